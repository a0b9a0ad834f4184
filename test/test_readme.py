"""What README.md tells people to type does what it says."""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / 'README.md').read_text()


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', README, re.DOTALL)


def test_the_example_walks_around_new_obstacles_to_its_goal(tmp_path):
    (example,) = blocks('python')
    script = tmp_path / 'example.py'
    script.write_text(example)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    plan, walk = run.stdout.splitlines()
    assert plan.startswith('AT_GOAL')
    assert walk.startswith('AT_GOAL')
    assert walk.endswith(' 2 searches')


def test_the_make_commands_are_there():
    commands = re.findall(r'^make (\w+)$', '\n'.join(blocks('console')), re.MULTILINE)
    assert 'test' in commands
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
