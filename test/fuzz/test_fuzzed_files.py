"""Files that are damaged, hostile or no files at all: each is read, or ends in one clear line, in bounded memory."""

import io
import os
import random
import sys
from contextlib import suppress

import numpy as np
import pytest
import yaml
from helpers import mutations
from helpers.mutations import mutated, mutated_record, mutated_text, seeds, shown
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tb_planner import Grid, TimeBoundedPlanner
from tb_planner.config import PlannerParameters
from tb_planner.maps.files import MapError, read_map
from tb_planner.parameters import BadParameters, as_yaml
from tb_planner.recording import About, RecordedWalk, Replay, read_record
from tb_planner.recording.format import MAGIC, BadRecord, pack
from tb_planner.search.agent import Changing, move_to_goal
from tb_planner.simulation.true_map import ScriptError, read_script
from tb_planner.tools.bag_topics import BagError
from tb_planner.tools.cli import main
from tb_planner.tools.tuning.parameter_file import read_parameters

GOOD_YAML = 'image: room.png\nresolution: 0.05\norigin: [0, 0, 0]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.2\n'
SOLVE = '--start 0 0 --goal 1 1'


@pytest.fixture
def error_line(tmp_path, monkeypatch, capsys):
    """Runs a command in the folder of the test, with little memory, and returns its only line of errors."""

    def run(line):
        with mutations.memory_limit():
            code = main(line.split())
        errors = capsys.readouterr().err
        assert code == 2
        assert errors.startswith('tb_planner: ')
        assert errors.count('\n') == 1
        assert len(errors) < 5000
        return errors

    monkeypatch.chdir(tmp_path)
    return run


def small_bag(folder):
    bag_files = pytest.importorskip('helpers.bag_files', reason="bags need rosbags: pip install '.[bags]'")
    return bag_files.write(folder / 'bag', [(0.0, '/chatter', bag_files.string('hello'))])


def zstd():
    return pytest.importorskip('compression.zstd' if sys.version_info >= (3, 14) else 'backports.zstd')


# ------------------------------------------------------------------------------------------------ YAML
YAML_READERS = {
    'a map': 'solve bad.yaml --start 0 0 --goal 1 1',
    'parameters': 'replay bag --params bad.yaml',
    'a bag': 'replay bag',
}


@pytest.mark.parametrize('reader', YAML_READERS)
@pytest.mark.parametrize(
    ('content', 'reason'),
    [
        (mutations.alias_bomb('resolution'), 'alias'),
        (mutations.nested_yaml(), 'nested more than'),
        ('a: ' + 'x' * 2**25, 'at most'),
    ],
    ids=['aliases', 'nested', 'large'],
)
def test_yaml_that_would_take_much_memory_is_refused_in_one_line(tmp_path, error_line, reader, content, reason):
    bag = small_bag(tmp_path)
    (bag / 'metadata.yaml' if reader == 'a bag' else tmp_path / 'bad.yaml').write_text(content)
    assert reason in error_line(YAML_READERS[reader])


# ------------------------------------------------------------------------------------------------ no regular files
COMMANDS = {
    'bad.map': f'solve bad.map {SOLVE}',
    'bad.yaml': f'solve bad.yaml {SOLVE}',
    'room.png': f'solve good.yaml {SOLVE}',
    'bad.tbrun': 'view bad.tbrun',
    'live.tbrun': 'view live.tbrun --live',
    'bad.mcap': 'replay bad.mcap',
    'params.yaml': 'replay bag --params params.yaml',
    'bag/bag.mcap': 'replay bag',
    'bag/metadata.yaml': 'replay bag',
}


@pytest.mark.parametrize('kind', ['device', 'fifo'])
@pytest.mark.parametrize('name', COMMANDS)
def test_devices_and_fifos_are_not_read(tmp_path, error_line, name, kind):
    small_bag(tmp_path)
    (tmp_path / 'good.yaml').write_text(GOOD_YAML)
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == 'device':
        path.symlink_to('/dev/zero')
    else:
        os.mkfifo(path)
    line = error_line(COMMANDS[name])
    assert name.rpartition('/')[2] in line
    assert 'regular file' in line


# ------------------------------------------------------------------------------------------------ maps
@pytest.mark.parametrize(
    'content',
    [
        mutations.png(13_000, 13_000),
        mutations.png(100_000, 100_000),
        b'P5 13000 13000 255\n' + bytes(1000),
        b'P5 99999999 99999999 255\n',
        b'P2 30000 30000 255\n' + b'0 ' * 1000,
    ],
    ids=['png', 'larger png', 'pgm', 'larger pgm', 'plain pgm'],
)
def test_an_image_of_more_cells_than_a_map_may_have_is_not_decoded(tmp_path, error_line, content):
    (tmp_path / 'good.yaml').write_text(GOOD_YAML)
    (tmp_path / 'room.png').write_bytes(content)
    assert 'at most 100000000 cells' in error_line(f'solve good.yaml {SOLVE}')


def test_no_other_program_is_run_for_an_image(tmp_path, error_line, monkeypatch):
    """Pillow passes EPS files to Ghostscript."""
    (tmp_path / 'good.yaml').write_text(GOOD_YAML)
    (tmp_path / 'room.png').write_text('%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n')
    ghostscript = tmp_path / 'gs'
    ghostscript.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\n')
    ghostscript.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    line = error_line(f'solve good.yaml {SOLVE}')
    assert not (tmp_path / 'ran').exists()
    assert 'BMP, JPEG, PNG or PPM' in line


@pytest.mark.parametrize(
    ('width', 'height', 'reason'),
    [
        ('20000', '20000', '20000 x 20000 cells'),
        ('9' * 3000, '1', 'is not a whole number'),
        ('10', '10', 'bytes'),
    ],
)
def test_an_octile_map_whose_header_does_not_fit_its_size_is_not_read(tmp_path, error_line, width, height, reason):
    with (tmp_path / 'bad.map').open('w') as file:
        file.write(f'type octile\nheight {height}\nwidth {width}\nmap\n')
        file.truncate(2**36)  # which takes no room on the disk
    assert reason in error_line(f'solve bad.map {SOLVE}')


# ------------------------------------------------------------------------------------------------ records and bags
def test_a_record_of_four_megabytes_takes_no_gigabytes_before_it_is_refused(tmp_path, error_line):
    (tmp_path / 'bad.tbrun').write_bytes(mutations.record_bomb())
    assert 'cannot be shown' in error_line('view bad.tbrun')


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
@pytest.mark.parametrize('declared', [100, 4 * 10**8])
def test_a_chunk_of_a_bag_is_decompressed_up_to_a_size_only(tmp_path, error_line, compression, declared):
    small_bag(tmp_path)
    library = zstd() if compression == 'zstd' else pytest.importorskip('lz4.frame')
    compressor = library.ZstdCompressor() if compression == 'zstd' else library.LZ4FrameCompressor()
    begin = b'' if compression == 'zstd' else compressor.begin()
    zeros = bytes(10**7)
    data = b''.join([begin, *(compressor.compress(zeros) for _ in range(40)), compressor.flush()])
    (tmp_path / 'bad.mcap').write_bytes(mutations.mcap_bomb(data, compression, declared))
    assert 'decompressed' in error_line('replay bad.mcap')


# ------------------------------------------------------------------------------------------------ mutations
def image_of(kind):
    pixels = np.random.default_rng(1).choice([0, 205, 254], (12, 9)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).convert('RGBA' if kind == 'PNG' else 'L').save(out, kind)
    return out.getvalue()


def attempt(read, path, expected):
    """Reads the file, or raises what is expected; nothing else."""
    with suppress(expected):
        read(path)


def test_mutated_octile_maps_are_read_or_refused(tmp_path):
    path, good = tmp_path / 'room.map', 'type octile\nheight 3\nwidth 4\nmap\n.G@.\nSWTO\n....\n'
    for seed in seeds(300):
        with shown(seed):
            path.write_bytes(mutated_text(good, random.Random(seed)))
            attempt(read_map, path, MapError)


@pytest.mark.parametrize('kind', ['PNG', 'PPM', 'BMP'])
def test_mutated_images_are_read_or_refused(tmp_path, kind):
    good = image_of(kind)
    (tmp_path / 'room.yaml').write_text(GOOD_YAML)
    for seed in seeds(300):
        with shown(seed), mutations.memory_limit():
            (tmp_path / 'room.png').write_bytes(mutated(good, random.Random(seed)))
            attempt(read_map, tmp_path / 'room.yaml', MapError)


def test_mutated_descriptions_of_maps_are_read_or_refused(tmp_path):
    (tmp_path / 'room.png').write_bytes(image_of('PNG'))
    for seed in seeds(300):
        with shown(seed):
            (tmp_path / 'room.yaml').write_bytes(mutated_text(GOOD_YAML, random.Random(seed)))
            attempt(read_map, tmp_path / 'room.yaml', MapError)


def test_mutated_parameter_files_are_read_or_refused(tmp_path):
    path, good = tmp_path / 'planner.yaml', as_yaml(PlannerParameters, 'tb_planner')
    for seed in seeds(60):
        with shown(seed):
            path.write_bytes(mutated_text(good, random.Random(seed)))
            attempt(read_parameters, path, BadParameters)


def test_mutated_scripts_of_obstacles_are_read_or_refused(tmp_path):
    path, good = tmp_path / 'script.yaml', 'obstacles:\n- {x_m: 1, y_m: 2.5, width_m: 1, height_m: 1, at_s: 3}\n'
    for seed in seeds(300):
        with shown(seed):
            path.write_bytes(mutated_text(good, random.Random(seed)))
            attempt(read_script, path, ScriptError)


def test_mutated_records_are_shown_or_refused(tmp_path):
    path = tmp_path / 'run.tbrun'
    grid = Grid(np.random.default_rng(3).random((20, 30)) < 0.2)
    grid.update(np.zeros((2, 2), bool), at=(0, 0))
    grid.update(np.zeros((2, 2), bool), at=(28, 18))
    planner = TimeBoundedPlanner(grid, (0, 0), (29, 19), k=8)
    with RecordedWalk(path, planner, Changing(grid, 4), About('a walk')) as walk:
        move_to_goal(planner, walk, max_intervals=40)
    good = path.read_bytes()
    for seed in seeds(200):
        with shown(seed), mutations.memory_limit():
            path.write_bytes(mutated_record(good, random.Random(seed)))
            attempt(lambda path: list(Replay(read_record(path))), path, BadRecord)


@pytest.mark.parametrize(
    ('head', 'reason'),
    [
        ({'title': 'x' * 10**6}, 'the title has 1000000 characters; it must have at most 1000'),
        ({'algorithm': 'x' * 10**6}, 'the algorithm has 1000000 characters; it must have at most 1000'),
        ({'facts': {'x' * 10**6: ''}}, 'the name of a fact has 1000000 characters; it must have at most 1000'),
        ({'facts': {'map': 'x' * 10**6}}, 'a fact has 1000000 characters; it must have at most 1000'),
        ({'facts': {str(n): '' for n in range(10**4)}}, 'the head has 10000 facts; it must have at most 100'),
        ({'facts': ['x']}, 'the facts of the head are a list; they must be names with texts'),
    ],
    ids=['title', 'algorithm', 'name', 'fact', 'facts', 'list'],
)
def test_a_head_with_texts_of_any_length_is_not_shown(tmp_path, error_line, head, reason):
    (tmp_path / 'bad.tbrun').write_bytes(MAGIC + pack({'kind': 'head', **head}))
    assert reason in error_line('view bad.tbrun')


def test_mutated_bags_are_read_or_refused(tmp_path):
    bag_files = pytest.importorskip('helpers.bag_files', reason="bags need rosbags: pip install '.[bags]'")
    from tb_planner.geometry import MapGeometry, Pose2D
    from tb_planner.tools.bags import open_bag

    messages = [
        (0.0, '/map', bag_files.occupancy_grid(0.0, np.zeros((8, 9)), MapGeometry(9, 8, 0.05, (0.0, 0.0, 0.0)))),
        (0.1, '/pose', bag_files.pose_stamped(0.1, Pose2D(0.1, 0.1, 0.0))),
        (0.2, '/goal_pose', bag_files.pose_stamped(0.2, Pose2D(0.3, 0.3, 0.0))),
    ]
    folder = bag_files.write(tmp_path / 'bag', messages)
    files = [folder / 'bag.mcap', bag_files.write_mcap_by_hand(tmp_path / 'hand.mcap', messages)]

    def read(path):
        with open_bag(path) as bag:
            return bag.goals()

    for path in files:
        good = path.read_bytes()
        for seed in seeds(100):
            with shown(seed), mutations.memory_limit():
                path.write_bytes(mutated(good, random.Random(seed)))
                attempt(read, path, BagError)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(['image', 'mode', *yaml.safe_load(GOOD_YAML)]), VALUES, max_size=3))
def test_a_description_of_a_map_with_any_values_is_read_or_refused(tmp_path_factory, changes):
    folder = tmp_path_factory.getbasetemp()
    (folder / 'room.png').write_bytes(image_of('PNG'))
    (folder / 'any.yaml').write_text(yaml.safe_dump({**yaml.safe_load(GOOD_YAML), **changes}))
    attempt(read_map, folder / 'any.yaml', MapError)


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(['weight', 'algorithm', 'restart', 'record', 'x']) | st.text(), VALUES, max_size=4)
)
def test_a_parameter_file_with_any_values_is_read_or_refused(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / 'any_parameters.yaml'
    path.write_text(yaml.safe_dump({'tb_planner': {'ros__parameters': values}}))
    attempt(read_parameters, path, BadParameters)
