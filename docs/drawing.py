"""Drawing: a small SVG with a background and words of its own, for the scripts beside it.

GitHub shows an SVG as an image, on a light or a dark page: so it has a background, and no fonts or styles from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
INK, FAINT, PAPER = '#1f2328', '#59636e', '#ffffff'
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0,0.5 L8,4 L0,7.5 z" fill="{INK}"/></marker></defs>'
)


class Drawing:
    """Shapes one over the other, in pixels; y grows downwards.

    drawing = Drawing(400, 200, 'A title', 'What there is to see, for those who do not see it.')
    drawing.rectangle(10, 10, 80, 30, '#0072b2')
    drawing.text(50, 30, 'a text', anchor='middle')
    drawing.write('name.svg')
    """

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" font-family="{FONT}" font-size="13">',
            f'<title>{escape(title)}</title>',
            f'<desc>{escape(description)}</desc>',
            ARROW,
            f'<rect width="{width:g}" height="{height:g}" rx="6" fill="{PAPER}"/>',
        ]

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, *, edge: str = 'none', radius: float = 0
    ) -> None:
        size = f'x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}"'
        self._parts.append(f'<rect {size} rx="{radius:g}" fill="{fill}" stroke="{edge}"/>')

    def squares(self, corners: Iterable[tuple[float, float]], side: float, fill: str) -> None:
        """Squares of one colour with these upper left corners."""
        path = ''.join(f'M{x:.5g},{y:.5g}h{side:g}v{side:g}h-{side:g}z' for x, y in corners)
        self._parts.append(f'<path d="{path}" fill="{fill}"/>')

    def line(
        self,
        points: Iterable[tuple[float, float]],
        colour: str = INK,
        width: float = 1,
        *,
        dashes: str = '',
        arrow: bool = False,
    ) -> None:
        more = (f' stroke-dasharray="{dashes}"' if dashes else '') + (' marker-end="url(#arrow)"' if arrow else '')
        corners = ' '.join(f'{x:.5g},{y:.5g}' for x, y in points)
        self._parts.append(
            f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'stroke-linejoin="round" stroke-linecap="round"{more}/>'
        )

    def disc(self, x: float, y: float, radius: float, fill: str, *, edge: str = INK) -> None:
        self._parts.append(f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:g}" fill="{fill}" stroke="{edge}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = 'start',
        size: float = 13,
        bold: bool = False,
        colour: str = INK,
    ) -> None:
        """y is the baseline of the letters."""
        weight = ' font-weight="bold"' if bold else ''
        self._parts.append(
            f'<text x="{x:.5g}" y="{y:.5g}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}"{weight}>'
            f'{escape(text)}</text>'
        )

    def __str__(self) -> str:
        return '\n'.join([*self._parts, '</svg>']) + '\n'

    def write(self, name: str) -> None:
        path = DOCS / name
        path.write_text(str(self), encoding='utf-8')
        print(f'{path}: {path.stat().st_size / 1e3:.0f} kB')
