"""The replay page in Firefox, driven by WebDriver BiDi: it plays and exports there, too, without an error."""

import itertools
import json
import os
import re
import shutil
from contextlib import ExitStack, closing

import pytest
from helpers.processes import wait_for
from helpers.replay_page import LOADED, make_record, write_page
from websockets.sync.client import connect

from tb_planner.ros.processes import Process, end

NAMES = ('firefox', 'firefox-esr')
LIMIT_S = 60.0
LISTENS = r'WebDriver BiDi listening on (ws://127\.0\.0\.1:\d+)'


class Firefox:
    """A browser with one page and a profile of its own; close() ends it."""

    def __init__(self, program, folder):
        self.downloads, profile = folder / 'downloads', folder / 'profile'
        profile.mkdir()
        downloads = {'browser.download.folderList': 2, 'browser.download.dir': str(self.downloads)}
        lines = [f'user_pref({json.dumps(name)}, {json.dumps(value)});' for name, value in downloads.items()]
        (profile / 'user.js').write_text('\n'.join(lines))
        command = [program, '--headless', '--no-remote', '--profile', str(profile), '--remote-debugging-port', '0']
        self._numbers = itertools.count(1)
        self.complaints = []
        with ExitStack() as undo:
            process = Process('firefox', command, {**os.environ, 'HOME': str(folder)}, folder / 'firefox.log')
            undo.callback(end, [process])
            assert wait_for(lambda: re.search(LISTENS, process.log_text), LIMIT_S), process.log_text
            address = re.search(LISTENS, process.log_text)[1]
            self._socket = undo.enter_context(connect(f'{address}/session', max_size=None, open_timeout=LIMIT_S))
            self.call('session.new', capabilities={})
            self.call('session.subscribe', events=['log.entryAdded'])
            self._context = self.call('browsingContext.getTree')['contexts'][0]['context']
            self.close = undo.pop_all().close

    def call(self, method, **parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=LIMIT_S))
            if message.get('method') == 'log.entryAdded' and message['params']['level'] in ('warn', 'error'):
                self.complaints.append(message['params']['text'])
            if message.get('id') == number:
                assert message['type'] == 'success', message
                return message['result']

    def open(self, url):
        self.call('browsingContext.navigate', context=self._context, url=url, wait='complete')

    def run(self, script):
        result = self.call('script.evaluate', expression=script, target={'context': self._context}, awaitPromise=True)
        assert result['type'] == 'success', result
        return result['result'].get('value')


@pytest.fixture(scope='module')
def firefox(tmp_path_factory):
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip('no Firefox: sudo apt install firefox-esr (Ubuntu: firefox)')
    with closing(Firefox(program, tmp_path_factory.mktemp('firefox'))) as browser:
        yield browser


def test_in_firefox_the_page_shows_the_run_and_exports_it_without_an_error(firefox, tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    record = make_record(folder / 'run.tbrun')
    firefox.open(write_page(folder / 'run.tbrun').as_uri())
    assert wait_for(lambda: firefox.run(LOADED), LIMIT_S)
    firefox.run('tbPlanner.pause(), tbPlanner.goTo(10)')
    assert wait_for(lambda: firefox.run('tbPlanner.replay.tick') == 10, LIMIT_S)
    assert firefox.run('tbPlanner.record.ticks') == record.ticks
    assert firefox.run('document.querySelector("aside").scrollWidth <= document.querySelector("aside").clientWidth')
    firefox.run('tbPlanner.range.begin(10), tbPlanner.range.end(14)')
    for kind, begins in (('png', b'\x89PNG'), ('csv', b'tick,'), ('webm', b'\x1a\x45\xdf\xa3')):
        firefox.run(f'document.getElementById("export").click(), document.getElementById("export-{kind}").click()')
        assert wait_for(lambda kind=kind: list(firefox.downloads.glob(f'*.{kind}')), LIMIT_S), kind
        (path,) = firefox.downloads.glob(f'*.{kind}')
        assert wait_for(lambda path=path, begins=begins: path.read_bytes().startswith(begins), LIMIT_S), kind
    assert firefox.run('document.getElementById("message").textContent') == ''
    assert firefox.complaints == []
