"""python -m benchmarks report: judges the papers' claims from rows; writes a Markdown page and its figures.

python -m benchmarks report                                     # from the sums in the repository
python -m benchmarks report --results results --out docs/report --keep   # from new rows, whose sums are kept
"""

from __future__ import annotations

import argparse
from pathlib import Path

HERE = Path(__file__).parent
EXPERIMENTS = ('2009', '2012', '2012-time', '2014', '2014-dynamic', 'ours', 'ours-replanning')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--results',
        type=Path,
        action='append',
        metavar='DIR',
        help='folder of rows; may be given again; parts that no folder has come from the sums in the repository',
    )
    parser.add_argument('--out', type=Path, default=Path('docs/report'), metavar='DIR', help='(docs/report)')
    parser.add_argument('--keep', action='store_true', help='write the sums into the repository')


def main(options: argparse.Namespace) -> int:
    from benchmarks.report import figures, page
    from benchmarks.report.groups import read_groups, write_groups
    from benchmarks.report.judge import judge, read_claims

    claims, data = read_claims()
    groups = read_groups([*(options.results or []), HERE], EXPERIMENTS)
    if options.keep:
        write_groups(groups, HERE)
    judged = []
    for claim in claims:
        suite = {'experiment': claim.experiment, 'part': claim.part}
        variants = [one for one in data['variant'] if suite.items() <= data['suites'][one['of']].items()]
        found = {one['name']: judge(claim, groups, data, one) for one in variants}
        judged.append(page.Judged(claim, judge(claim, groups, data), found))
    drawn = figures.figures_of(groups, data)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / 'README.md').write_text(page.page(judged, drawn, groups, data))
    bars = page.claim_bars(judged, data['papers'])
    (options.out / f'{bars.name}.svg').write_text(figures.claim_bars_svg(bars) + '\n')
    for figure in drawn:
        (options.out / f'{figure.name}.svg').write_text(figures.svg(figure) + '\n')
    print(page.sentence(judged))
    print(f'{options.out / "README.md"} with {len(drawn) + 1} figures')
    return 0
