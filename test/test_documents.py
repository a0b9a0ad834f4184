"""README.md and the pages in docs/: their commands run, their links lead somewhere, their tables are complete.

test/ros compares the tables of docs/reference.md and docs/simulator.md with the nodes.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tb_planner.maps.files import read_map

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / 'README.md'
REFERENCE = ROOT / 'docs' / 'reference.md'
PAGES = [README, ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md'))]
each_page = pytest.mark.parametrize('page', PAGES, ids=[page.name for page in PAGES])


def blocks(page, language):
    """The fenced blocks of a page, also those in lists."""
    found = re.findall(rf'^( *)```{language}\n(.*?)^ *```', page.read_text(), re.DOTALL | re.MULTILINE)
    return [re.sub(rf'^{indent}', '', text, flags=re.MULTILINE) for indent, text in found]


def commands(*pages):
    """Every line of the console blocks of these pages."""
    return [line for page in pages for block in blocks(page, 'console') for line in block.splitlines()]


def headings(page):
    """The anchors that GitHub makes of a page's headings."""
    titles = re.findall(r'^#+ (.*)$', page.read_text(), re.MULTILINE)
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles}


def python_blocks_with_our_library():
    for page in PAGES:
        for number, block in enumerate(blocks(page, 'python')):
            if 'tb_planner import' in block and 'launch' not in block:
                yield pytest.param(block, id=f'{page.name}-{number}')


@pytest.mark.parametrize('block', list(python_blocks_with_our_library()))
def test_a_python_block_prints_what_its_comments_show(block, tmp_path):
    script = tmp_path / 'block.py'
    script.write_text(block)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    promised = re.findall(r'# prints (.*)$', block, re.MULTILINE)
    assert promised
    lines = run.stdout.splitlines()
    assert len(lines) == len(promised), run.stdout
    for line, promise in zip(lines, promised):
        assert line == promise


def test_the_readme_has_the_two_make_commands_and_the_makefile_has_their_targets():
    named = re.findall(r'^make (\w+)$', '\n'.join(commands(README)), re.MULTILINE)
    assert named == ['demo', 'test']
    makefile = (ROOT / 'Makefile').read_text()
    for target in named:
        assert re.search(rf'^{target}:', makefile, re.MULTILINE), target


@pytest.mark.parametrize('line', dict.fromkeys(line for line in commands(*PAGES) if line.startswith('make ')))
def test_a_make_command_names_a_target(line):
    target = shlex.split(line)[1]
    assert re.search(rf'^{target}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)


def test_the_solve_command_walks_to_its_goal(tmp_path):
    (line,) = {line for line in commands(*PAGES) if line.startswith('tb_planner solve ')}
    pytest.importorskip('matplotlib', reason="pictures need matplotlib: pip install '.[plot]'")
    run = subprocess.run(
        [sys.executable, '-m', *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert 'arrived' in run.stdout
    assert (tmp_path / shlex.split(line)[-1]).exists()


def test_the_map_of_the_readme_is_one_for_its_image(tmp_path):
    (text,) = blocks(README, 'yaml')
    (tmp_path / 'kitchen.yaml').write_text(text)
    Image.new('L', (200, 120), 'white').save(tmp_path / 'kitchen.png')
    (line,) = (line for line in commands(README) if 'kitchen.yaml' in line)
    read = read_map(tmp_path / 'kitchen.yaml')
    assert (read.width, read.height, read.resolution_m) == (200, 120, 0.05)
    (x0, y0), (x1, y1) = re.findall(r'--(?:start|goal) (\S+) ([\w.]+)', line)
    assert all(read.geometry.contains(read.geometry.cell_at(float(x), float(y))) for x, y in ((x0, y0), (x1, y1)))


def test_the_replay_of_the_example_bag_prints_what_the_reference_shows(tmp_path):
    """The times of ticks depend on the computer; so does, if it is busy, the number of restarts."""
    pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")
    (line,) = (line for line in commands(REFERENCE) if 'examples/office.mcap' in line)
    (shown,) = (block for block in blocks(REFERENCE, 'text') if block.startswith('office.mcap'))
    (tmp_path / 'examples').symlink_to(ROOT / 'examples')
    run = subprocess.run(
        [sys.executable, '-m', *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    printed, promised = run.stdout.splitlines(), shown.splitlines()
    assert [text.split()[0] for text in printed] == [text.split()[0] for text in promised]
    assert printed[:2] == promised[:2]
    assert (tmp_path / 'office.tbrun').stat().st_size > 0


@pytest.mark.parametrize('line', dict.fromkeys(line for line in commands(*PAGES) if line.startswith('tb_planner ')))
def test_a_command_of_a_page_has_options_that_the_command_has(line):
    words = shlex.split(line)
    run = subprocess.run(
        [sys.executable, '-m', 'tb_planner', words[1], '--help'], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    options = {word for word in words[2:] if re.fullmatch(r'--?[a-z][a-z-]*', word)}
    assert options <= set(re.findall(r'(?<!\w)--?[a-z][a-z-]*', run.stdout))


@pytest.mark.parametrize(
    ('page', 'heading', 'command'),
    [('reference.md', '## Bags\n', 'replay'), ('tuning.md', '## Let the tuner choose\n', 'tune')],
)
def test_the_options_that_a_section_names_are_those_of_the_command(page, heading, command):
    section = (ROOT / 'docs' / page).read_text().partition(heading)[2].partition('\n## ')[0]
    named = set(re.findall(r'(?<!-)--[a-z][a-z-]*', section))
    assert len(named) >= 4
    run = subprocess.run([sys.executable, '-m', 'tb_planner', command, '--help'], capture_output=True, text=True)
    assert named <= set(re.findall(r'--[a-z-]+', run.stdout))


def test_the_benchmarks_that_pages_name_exist():
    named = {name for page in PAGES for name in re.findall(r'python -m benchmarks (\w+)', page.read_text())}
    assert named
    run = subprocess.run([sys.executable, '-m', 'benchmarks', '--help'], cwd=ROOT, capture_output=True, text=True)
    assert named <= set(re.findall(r'\w+', run.stdout))


def test_the_launch_arguments_of_the_reference_are_those_of_the_launch_files():
    table = REFERENCE.read_text().partition('| argument | of |')[2].partition('\n\n')[0]
    listed = {
        name: cells[2]
        for row in table.splitlines()[2:]
        for cells in [row.split('|')]
        for name in re.findall(r'`(\w+)`', cells[1])
    }
    found = {
        file: set(re.findall(r"DeclareLaunchArgument\(\s*'(\w+)'", (ROOT / 'launch' / file).read_text()))
        for file in ('planner.launch.py', 'demo.launch.py', 'fleet.launch.py')
    }
    assert set(listed) == set.union(*found.values())
    for file, names in found.items():
        own = file.partition('.')[0]
        assert all('all' in listed[name] or own in listed[name] for name in names), file


@each_page
def test_links_lead_somewhere(page):
    for link in re.findall(r'\]\(([^)]+)\)', page.read_text()):
        if link.startswith('http'):
            continue
        file, _, anchor = link.partition('#')
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


@each_page
def test_files_that_a_page_names_exist(page):
    """Paths in backticks that begin with a folder of this repository and end in a file name."""
    folders = 'benchmarks|config|docs|examples|launch|maps|tb_planner|test'
    for path in re.findall(
        rf'`((?:{folders})/[\w./-]+\.(?:py|pxd|md|yaml|xml|js|css|html|toml|rviz))`', page.read_text()
    ):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize(('name', 'limit'), [('README.md', 200), ('CONTRIBUTING.md', 150)])
def test_the_first_pages_are_short(name, limit):
    assert len((ROOT / name).read_text().splitlines()) <= limit


def test_readme_and_papers_have_the_counts_of_claims_that_the_report_has():
    counts = (
        r'\d+ are supported, \d+ are contradicted, \d+ are mixed, \d+ are inconclusive, and \d+ (?:is|are) not judged'
    )
    (judged,) = re.findall(counts, (ROOT / 'docs' / 'report' / 'README.md').read_text())
    for page in (README, ROOT / 'docs' / 'papers.md'):
        assert re.findall(counts, page.read_text()) == [judged], page.name
        (tested,) = re.findall(r'We tested (\d+) claims', page.read_text())
        assert int(tested) == sum(map(int, re.findall(r'\d+', judged))), page.name


@pytest.mark.skipif(not (ROOT / '.git').exists(), reason='counts the files that git knows')
def test_the_counts_of_the_code_base_are_within_their_limits():
    command = [sys.executable, ROOT / 'docs' / 'code_counts.py']
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    counts = {line[:44].strip(): line[44:].strip() for line in done.stdout.splitlines()}
    assert 0 < int(counts['modules in the installed package']) <= 100
    assert counts['class names defined twice'] == '0'
    assert counts['words of the "not" column'] == '0'
    assert int(counts['lines of README.md']) <= 200
    assert int(counts['lines of CONTRIBUTING.md']) <= 150
    assert int(counts['Python frames from the timer to the kernel']) > 3
    assert 'navigation/loop.py' in counts['files from map message to waypoint']
    assert 'navigation/path_planner.py' in counts['files from path request to result']


def test_nothing_tells_people_to_install_this_package_from_a_registry():
    """It is on none: pip would install a package of somebody else that has the name."""
    programs = [path for folder in ('tb_planner', 'benchmarks', 'examples') for path in (ROOT / folder).rglob('*.py')]
    assert len(programs) > 100
    for path in [*PAGES, *programs, ROOT / 'Makefile']:
        assert not re.search(r"pip install (?:-\S+ )*['\"]?tb[_-]planner", path.read_text()), path
