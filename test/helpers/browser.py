"""A real browser for tests: Chromium without a window, driven through a pair of pipes by its DevTools protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
OPTIONS = (
    '--headless=new',
    '--remote-debugging-pipe',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--force-color-profile=srgb',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
)
HIDE_SCROLLBARS = '--hide-scrollbars'
GONE = ('navigated or closed', 'Promise was collected')
LIMIT_S = 60.0
ENDS_S = 10.0
_OWN_GROUP = {'process_group': 0} if sys.version_info >= (3, 11) else {'start_new_session': True}


def find_chromium() -> str | None:
    return os.environ.get('TB_PLANNER_CHROMIUM') or next(filter(None, map(shutil.which, NAMES)), None)


def chromium_or_skip() -> str:
    path = find_chromium()
    if path is None:
        pytest.skip('no Chromium: sudo apt install chromium (or set TB_PLANNER_CHROMIUM to a browser of its kind)')
    return path


class BrowserError(RuntimeError):
    """The browser has reported an error, or has not responded."""


class PageHasGone(BrowserError):
    """The page was loaded anew, or closed, during the request."""


class Browser:
    """A browser whose pages are tabs; close() ends it. Waits have a limit; after a time-out nothing more is sent."""

    def __init__(self, executable: str, *, has_scrollbars: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # above those that the browser knows, and none that is in use here
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_browser, from_browser)]
        command = f'exec 3<&{theirs[0]} 4>&{theirs[1]}; exec "$@"'
        shown = () if has_scrollbars else (HIDE_SCROLLBARS,)
        options = [*OPTIONS, *shown, f'--user-data-dir={self._folder.name}', 'about:blank']
        self._process = subprocess.Popen(
            ['bash', '-c', command, 'bash', executable, *options],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_OWN_GROUP,
        )
        for fd in (to_browser, from_browser, *theirs):
            os.close(fd)
        self._buffer = b''
        self._number = 0
        self._is_silent = False
        self._responses: dict[int, dict] = {}
        self.events: list[dict] = []

    def close(self) -> None:
        """Kills the browser with all of its processes: there is nothing to save."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDS_S)
        for fd in (self._in, self._out):
            os.close(fd)
        self._folder.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict:
        self._number += 1
        number = self._number
        message = {'id': number, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        deadline = time.monotonic() + LIMIT_S
        self._send(json.dumps(message).encode() + b'\0', deadline)
        while number not in self._responses:
            self._listen(deadline)
        response = self._responses.pop(number)
        if 'error' in response:
            text = response['error'].get('message', '')
            kind = PageHasGone if any(words in text for words in GONE) else BrowserError
            raise kind(f'{method}: {response["error"]}')
        return response['result']

    def _send(self, data: bytes, deadline: float) -> None:
        while data:
            self._wait_for(self._out, select.POLLOUT, deadline)
            data = data[os.write(self._out, data[: select.PIPE_BUF]) :]  # a piece of this size never blocks

    def _listen(self, deadline: float) -> None:
        """Reads the next messages of the browser."""
        self._wait_for(self._in, select.POLLIN, deadline)
        data = os.read(self._in, 1 << 20)
        if not data:
            raise BrowserError('the browser has ended')
        *messages, self._buffer = (self._buffer + data).split(b'\0')
        for text in messages:
            message = json.loads(text)
            if 'id' in message:
                self._responses[message['id']] = message
            else:
                self.events.append(message)

    def _wait_for(self, pipe: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        left_s = deadline - time.monotonic()
        if self._is_silent or left_s <= 0 or not poll.poll(1000 * left_s):
            self._is_silent = True
            raise BrowserError(f'the browser has not responded within {LIMIT_S:g} s')

    def forget(self, session: str) -> None:
        """Drops the events of a page that is closed."""
        self.events = [event for event in self.events if event.get('sessionId') != session]

    def open(
        self,
        url: str,
        *,
        width: int = 1280,
        height: int = 800,
        scale: float = 1,
        dark: bool = False,
        motion: bool = False,
        offline: bool = True,
    ) -> Page:
        """A new page. motion: whether it may move by itself, as a replay does that has been opened."""
        context = self.call('Target.createBrowserContext')['browserContextId']  # with a storage of its own
        target = self.call('Target.createTarget', url='about:blank', browserContextId=context)['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page(self, session, context)
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            page.call(f'{domain}.enable')
        if offline:
            speed = {'latency': 0, 'downloadThroughput': 0, 'uploadThroughput': 0}
            page.call('Network.emulateNetworkConditions', offline=True, **speed)
        page.resize(width, height, scale)
        page.prefer(dark, motion)
        page.call('Page.navigate', url=url)
        return page


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str, context: str) -> None:
        self._browser = browser
        self._session = session
        self._context = context

    def close(self) -> None:
        self._browser.call('Target.disposeBrowserContext', browserContextId=self._context)
        self._browser.forget(self._session)

    def permit(self, name: str, setting: str) -> None:
        """Answers for the user whether pages may do this: 'granted' or 'denied'."""
        permission = {'permission': {'name': name}, 'setting': setting}
        self._browser.call('Browser.setPermission', browserContextId=self._context, **permission)

    def download_to(self, folder: Path) -> None:
        """Saves what the page downloads in this folder."""
        where = {'behavior': 'allow', 'downloadPath': str(folder), 'browserContextId': self._context}
        self._browser.call('Browser.setDownloadBehavior', **where)

    def call(self, method: str, **parameters: object) -> dict:
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """Sets the size of the page; a narrow page emulates a phone with touch input."""
        is_phone = width < 600
        metrics = {'width': width, 'height': height, 'deviceScaleFactor': scale, 'mobile': is_phone}
        self.call('Emulation.setDeviceMetricsOverride', **metrics)
        self.call('Emulation.setTouchEmulationEnabled', enabled=is_phone)

    def prefer(self, dark: bool, motion: bool = False) -> None:
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        moves = {'name': 'prefers-reduced-motion', 'value': 'no-preference' if motion else 'reduce'}
        self.call('Emulation.setEmulatedMedia', features=[scheme, moves])

    def run(self, script: str) -> object:
        """The value of an expression, which may be a promise."""
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            details = result['exceptionDetails']
            raise BrowserError(details.get('exception', {}).get('description') or details['text'])
        return result['result'].get('value')

    def wait_for(self, condition: str, limit_s: float = LIMIT_S) -> None:
        """Waits until the condition holds; raises BrowserError at once if a script of the page has a bug."""
        deadline = time.monotonic() + limit_s
        while not self._is_so(condition):
            if bugs := self.bugs():
                raise BrowserError(f'a script of the page failed during the wait for {condition}\n{bugs[0]}')
            if time.monotonic() > deadline:
                raise BrowserError(f'not so after {limit_s:g} s: {condition}')
            time.sleep(0.02)

    def _is_so(self, condition: str) -> bool:
        """Whether the condition holds; False for a page that is being replaced."""
        try:
            return bool(self.run(condition))
        except PageHasGone:
            return False

    def box_of(self, name: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of the element with this id."""
        box = self.run(
            f'(() => {{ const r = document.getElementById("{name}").getBoundingClientRect();'
            'return [r.x, r.y, r.width, r.height]; })()'
        )
        return tuple(box)

    def press(self, key: str, *, shift: bool = False) -> None:
        text = {'text': key} if len(key) == 1 else {}
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, modifiers=8 if shift else 0, **text)

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        self.mouse('mousePressed', *start, button='left', buttons=1, clickCount=1)
        for i in range(1, steps + 1):
            share = i / steps
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            self.mouse('mouseMoved', x, y, button='left', buttons=1)
        self.mouse('mouseReleased', *end, button='left', clickCount=1)

    def screenshot(self, path: Path | None = None) -> bytes:
        data = base64.b64decode(self.call('Page.captureScreenshot', format='png')['data'])
        if path is not None:
            path.write_bytes(data)
        return data

    def bugs(self) -> list[str]:
        """What the page's scripts have thrown and not caught, and what they have caught and shown, such as a TypeError;
        a plain Error is a message for the user."""
        shown = [event['params']['args'][0] for event in self._events('Runtime.consoleAPICalled')]
        shown = [value for value in shown if value.get('subtype') == 'error' and value['className'] != 'Error']
        thrown = [event['params']['exceptionDetails'] for event in self._events('Runtime.exceptionThrown')]
        thrown = [details.get('exception', details) for details in thrown]
        return [error.get('description') or str(error) for error in thrown + shown]

    def complaints(self) -> list[str]:
        """Exceptions, and errors and warnings on the console and in the log of the network."""
        found = self.bugs()
        for event in self._events('Runtime.consoleAPICalled', 'Log.entryAdded'):
            method, about = event['method'], event['params']
            if method == 'Runtime.consoleAPICalled' and about['type'] in ('error', 'warning', 'assert'):
                found.append(f'{about["type"]}: {about["args"]}')
            elif method == 'Log.entryAdded' and about['entry']['level'] in ('error', 'warning'):
                found.append(about['entry']['text'])
        return found

    def requests(self) -> list[str]:
        """Addresses that were asked for, but for what is in the page itself."""
        urls = [event['params']['request']['url'] for event in self._events('Network.requestWillBeSent')]
        return [url for url in urls if not url.startswith(('data:', 'blob:'))]

    def _events(self, *methods: str) -> list[dict]:
        """The events of these kinds so far."""
        events = self._browser.events
        return [event for event in events if event.get('sessionId') == self._session and event['method'] in methods]
