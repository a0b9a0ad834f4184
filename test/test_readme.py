"""What README.md tells people to type does what it says. The tables of nodes are compared in test/ros."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / 'README.md').read_text()
PAGES = [REPOSITORY / 'README.md', REPOSITORY / 'CONTRIBUTING.md', *sorted((REPOSITORY / 'docs').glob('*.md'))]


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', README, re.DOTALL)


def headings(page):
    """As GitHub makes anchors of them."""
    titles = re.findall(r'^#+ (.*)$', page.read_text(), re.MULTILINE)
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles}


def test_the_example_walks_around_new_obstacles_to_its_goal(tmp_path):
    (example,) = (block for block in blocks('python') if 'from tb_planner import' in block)
    script = tmp_path / 'example.py'
    script.write_text(example)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    plan, walk = run.stdout.splitlines()
    assert plan.startswith('AT_GOAL')
    assert walk.startswith('AT_GOAL')
    assert walk.endswith(' 2 searches')


def test_the_make_commands_are_there():
    commands = re.findall(r'^make (\w+)$', '\n'.join(blocks('console')), re.MULTILINE)
    assert commands == ['demo', 'test']
    makefile = (REPOSITORY / 'Makefile').read_text()
    for command in commands:
        assert re.search(rf'^{command}:', makefile, re.MULTILINE), command


def test_the_command_line_is_run_with_options_it_has(tmp_path):
    (line,) = re.findall(r'^python -m tb_planner solve (.*)$', README, re.MULTILINE)
    (tmp_path / 'arena.map').write_text('type octile\nheight 60\nwidth 60\nmap\n' + ('.' * 60 + '\n') * 60)
    arguments = line.replace('--png arena.png', '').split()
    run = subprocess.run(
        [sys.executable, '-m', 'tb_planner', 'solve', *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert 'arrived' in run.stdout


def test_the_launch_arguments_are_those_of_the_launch_files():
    table = README.partition('| argument | of |')[2].partition('\n\n')[0]
    told = {
        name: cells[2]
        for row in table.splitlines()[2:]
        for cells in [row.split('|')]
        for name in re.findall(r'`(\w+)`', cells[1])
    }
    found = {
        file: set(re.findall(r"DeclareLaunchArgument\(\s*'(\w+)'", (REPOSITORY / 'launch' / file).read_text()))
        for file in ('planner.launch.py', 'demo.launch.py', 'fleet.launch.py')
    }
    assert set(told) == set.union(*found.values())
    for file, names in found.items():
        own = file.partition('.')[0]
        assert all('all' in told[name] or own in told[name] for name in names), file


@pytest.mark.parametrize('page', PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page):
    links = re.findall(r'\]\(([^)]+)\)', page.read_text())
    for link in links:
        if link.startswith('http'):
            continue
        file, _, anchor = link.partition('#')
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link
