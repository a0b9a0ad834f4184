"""Maps and problems from files, small ones written here, and the shared ones where they are present."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from tb_planner.maps.files import MapError, ScenProblem, read_map, read_problems

OCTILE = """type octile
height 3
width 4
map
.G@.
SWTO
....
"""


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def write_yaml_map(folder, pixels, image='room.pgm', leave_out=(), **changes):
    """Writes a map_server map of the given pixels (top row first) and returns the path of its .yaml."""
    Image.fromarray(np.asarray(pixels, np.uint8)).save(folder / image)
    return write_description(folder, leave_out=leave_out, image=image, **changes)


def write_description(folder, leave_out=(), **changes):
    keys = {
        'image': 'room.pgm',
        'resolution': 0.05,
        'origin': [-1.0, 2.0, 0.0],
        'negate': 0,
        'occupied_thresh': 0.65,
        'free_thresh': 0.196,
        **changes,
    }
    path = folder / 'room.yaml'
    path.write_text(''.join(f'{key}: {value}\n' for key, value in keys.items() if key not in leave_out))
    return path


def message_of(path, read=read_map):
    with pytest.raises(MapError) as error:
        read(path)
    assert '\n' not in str(error.value)
    return str(error.value)


def test_octile_map_is_read_top_row_first(write):
    octile = read_map(write('small.map', OCTILE))
    assert octile.name == 'small'
    assert (octile.width, octile.height) == (4, 3)
    assert octile.occupancy.dtype == np.int8
    assert octile.occupancy.tolist() == [[0, 0, 100, 0], [0, 100, 100, 100], [0, 0, 0, 0]]
    assert octile.blocked.tolist() == (octile.occupancy == 100).tolist()
    assert not octile.y_up


def test_water_is_passable_on_request_only(write):
    path = write('small.map', OCTILE)
    assert read_map(path).blocked[1, 1]
    assert np.argwhere(~read_map(path, passable='W').blocked).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match=r"passable '\.x' has 'x', which is not one of \.GSW@OT"):
        read_map(path, passable='.x')


@pytest.mark.parametrize(
    'content',
    [
        OCTILE.replace('\n', '\r\n'),
        OCTILE + '\n\n',
        OCTILE.rstrip('\n'),
        OCTILE.replace('height 3\nwidth 4', 'width 4\nheight 3'),
        OCTILE.replace('type octile', 'type octile '),
    ],
)
def test_octile_map_is_read_with_other_line_ends_and_header_orders(write, content):
    assert read_map(write('small.map', content)).blocked.sum() == 4


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('', "no 'type' in the first 3 lines, which begin with ''"),
        ('P5 4 3 255\n', "no 'type' in the first 3 lines, which begin with 'P5 4 3 255'"),
        (OCTILE.replace('octile', 'hexagon'), "type 'hexagon' is not octile"),
        (OCTILE.replace('height 3', 'height'), "no 'height' in the first 3 lines, which begin with 'type octile'"),
        (OCTILE.replace('width 4', 'width -4'), "width '-4' is not a whole number between 1 and 100000000"),
        (OCTILE.replace('height 3', 'height 0'), "height '0' is not a whole number between 1 and 100000000"),
        (OCTILE.replace('\nmap', ''), "line 4 is '.G@.', not 'map'"),
        (OCTILE.replace('height 3', 'height 4'), '3 rows, but the header has height 4'),
        (OCTILE.replace('height 3', 'height 2'), '3 rows, but the header has height 2'),
        (OCTILE.replace('SWTO', 'SWT'), 'row 1 has 3 cells, but the header has width 4'),
        (OCTILE.replace('SWTO', 'SWTOO'), 'row 1 has 5 cells, but the header has width 4'),
        (OCTILE.replace('SWTO', 'SWxO'), "row 1 has 'x' at 2, which is not one of .GSW@OT"),
        (OCTILE.replace('SWTO', 'SW\u00e9O'), "row 1 has '\u00e9' at 2, which is not one of .GSW@OT"),
        (b'\x89PNG\xff\xff', 'byte 0 is not text'),
    ],
)
def test_bad_octile_map_is_refused_with_the_place(write, content, message):
    path = write('bad.map', content)
    assert message_of(path) == f'{path}: {message}'


def test_missing_map_is_refused_by_name(tmp_path):
    for name in ('none.map', 'none.yaml'):
        assert message_of(tmp_path / name) == f'{tmp_path / name}: cannot be read: No such file or directory'
    assert message_of(tmp_path / 'x.scen', lambda path: list(read_problems(path))).startswith(f'{tmp_path}')


def test_other_suffixes_are_refused(tmp_path):
    assert message_of(tmp_path / 'a.pgm').endswith('maps must be .map or .yaml files')
    assert message_of(tmp_path / 'a').endswith('maps must be .map or .yaml files')


@pytest.mark.parametrize('separator', ['\t', ' '])
def test_problems_are_read_with_tabs_and_with_spaces(write, separator):
    rows = [[3, 'maps/a.map', 512, 256, 1, 2, 3, 4, 4.41421], [10, 'maps/a.map', 512, 256, 9, 8, 9, 8, 0]]
    lines = ['version 1', *(separator.join(str(column) for column in row) for row in rows), '']
    assert list(read_problems(write('a.map.scen', '\n'.join(lines)))) == [
        ScenProblem(3, 'maps/a.map', 512, 256, (1, 2), (3, 4), 4.41421),
        ScenProblem(10, 'maps/a.map', 512, 256, (9, 8), (9, 8), 0.0),
    ]


@pytest.mark.parametrize('separator', ['\t', ' '])
def test_the_map_of_a_problem_may_have_spaces_in_its_name(write, separator):
    line = separator.join(['0', 'maps/a big one.map', '5', '6', '1', '2', '3', '4', '4.5'])
    (problem,) = read_problems(write('a.scen', f'version 1.0\n{line}\n'))
    assert problem.map_name == 'maps/a big one.map'
    assert problem.goal == (3, 4)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('', ": line 1 is '', not a version"),
        ('1\ta.map\t5\t5\t1\t1\t2\t2\t1.4\n', ": line 1 is '1\\ta.map\\t5\\t5\\t1\\t1\\t2\\t2\\t1.4', not a version"),
        ('version 1\n\n1 a.map 5 5 1 1 2 2\n', ', line 3: 8 columns, not 9'),
        ('version 1\n1 a.map 5 5 1 1 2 x 1.4\n', ", line 2: invalid literal for int() with base 10: 'x'"),
        ('version 1\n1 a.map 5 5 1 1 2 2 far\n', ", line 2: could not convert string to float: 'far'"),
    ],
)
def test_bad_problems_are_refused_with_the_line(write, content, message):
    path = write('bad.scen', content)
    assert message_of(path, lambda path: list(read_problems(path))) == f'{path}{message}'


def test_map_server_map_is_turned_over_so_that_y_goes_upwards(tmp_path):
    room = read_map(write_yaml_map(tmp_path, [[0, 205, 254], [254, 254, 254]]))
    assert room.occupancy.dtype == np.int8
    assert room.occupancy.tolist() == [[0, 0, 0], [100, -1, 0]]
    assert room.name == 'room'
    assert room.resolution_m == 0.05
    assert room.origin == (-1.0, 2.0, 0.0)
    assert room.y_up


def test_trinary_compares_darkness_with_both_thresholds(tmp_path):
    # darkness 1 - v / 255 of 51, 52, 153, 154 is 0.8, 0.796, 0.4, 0.396
    path = write_yaml_map(tmp_path, [[51, 52, 153, 154]], occupied_thresh=0.797, free_thresh=0.399)
    assert read_map(path).occupancy.tolist() == [[100, -1, -1, 0]]


def test_negate_makes_white_occupied(tmp_path):
    for negate in (1, 'true'):
        assert read_map(write_yaml_map(tmp_path, [[0, 128, 255]], negate=negate)).occupancy.tolist() == [[0, -1, 100]]
    for negate in (0, 'false'):
        assert read_map(write_yaml_map(tmp_path, [[0, 128, 255]], negate=negate)).occupancy.tolist() == [[100, -1, 0]]


def test_scale_grades_between_the_thresholds(tmp_path):
    path = write_yaml_map(tmp_path, [[255, 204, 153, 102, 51, 0]], free_thresh=0.1, occupied_thresh=0.9, mode='scale')
    # darkness 0, .2, .4, .6, .8, 1: the inner ones lie 1/8, 3/8, 5/8 and 7/8 between .1 and .9
    assert read_map(path).occupancy.tolist() == [[0, 12, 38, 62, 88, 100]]


def test_scale_takes_what_is_not_opaque_for_unknown(tmp_path):
    pixels = [[[255, 255, 255, 255], [255, 255, 255, 254], [0, 0, 0, 0], [0, 0, 0, 255]]]
    path = write_yaml_map(tmp_path, pixels, image='room.png', mode='scale')
    assert read_map(path).occupancy.tolist() == [[0, -1, -1, 100]]


def test_raw_takes_values_as_they_are_and_unknown_above_100(tmp_path):
    for negate in (0, 1):
        path = write_yaml_map(tmp_path, [[0, 1, 99, 100, 101, 255]], negate=negate, mode='raw')
        assert read_map(path).occupancy.tolist() == [[0, 1, 99, 100, -1, -1]]


def test_colours_are_averaged(tmp_path):
    pixels = [[[0, 0, 0], [255, 255, 255], [255, 0, 0], [255, 255, 0]]]
    path = write_yaml_map(tmp_path, pixels, image='room.png', occupied_thresh=0.66, free_thresh=0.34)
    assert read_map(path).occupancy.tolist() == [[100, 0, 100, 0]]


def test_trinary_counts_alpha_as_one_more_channel_as_map_server_does(tmp_path):
    pixels = [[[0, 0, 0, 255], [0, 0, 0, 0], [255, 255, 255, 255], [255, 255, 255, 0]]]
    path = write_yaml_map(tmp_path, pixels, image='room.png', occupied_thresh=0.8)
    assert read_map(path).occupancy.tolist() == [[-1, 100, 0, -1]]


@pytest.mark.parametrize(
    'content',
    [
        b'P5\n# a comment\n3 1\n255\n\x00\x80\xff',
        b'P2\n3 1\n255\n0 128 255\n',
        b'P2\n3 1\n100\n0 50 100\n',
        b'P5\n3 1\n65535\n\x00\x00\x80\x00\xff\xff',
        b'P5\n3 1\n1000\n\x00\x00\x01\xf4\x03\xe8',
    ],
)
def test_portable_grey_maps_of_every_kind_are_read(tmp_path, content):
    (tmp_path / 'room.pgm').write_bytes(content)
    assert read_map(write_description(tmp_path)).occupancy.tolist() == [[100, -1, 0]]


def test_sixteen_bit_and_palette_images_are_read(tmp_path):
    Image.fromarray(np.array([[0, 32768, 65535]], np.uint16)).save(tmp_path / 'deep.png')
    assert read_map(write_description(tmp_path, image='deep.png')).occupancy.tolist() == [[100, -1, 0]]
    palette = Image.frombytes('P', (3, 1), bytes([0, 1, 2]))
    palette.putpalette([255, 255, 255, 0, 0, 0, 128, 128, 128])
    palette.save(tmp_path / 'palette.png')
    assert read_map(write_description(tmp_path, image='palette.png')).occupancy.tolist() == [[0, 100, -1]]


def test_image_may_be_named_by_its_full_path(tmp_path):
    elsewhere = tmp_path / 'images'
    elsewhere.mkdir()
    write_yaml_map(elsewhere, [[0, 255]])
    assert read_map(write_description(tmp_path, image=elsewhere / 'room.pgm')).width == 2


@pytest.mark.parametrize('key', ['image', 'resolution', 'origin', 'negate', 'occupied_thresh', 'free_thresh'])
def test_missing_key_is_refused_by_name(tmp_path, key):
    path = write_yaml_map(tmp_path, [[0]], leave_out=(key,))
    assert message_of(path).startswith(f'{path}: no value for {key}; for example: {key}: ')


def test_all_missing_keys_are_named_with_values_that_can_be_used(tmp_path):
    given, missing = ('image', 'resolution', 'origin'), ('negate', 'occupied_thresh', 'free_thresh')
    path = write_yaml_map(tmp_path, [[0, 255]], leave_out=missing)
    message = message_of(path)
    assert message.startswith(f'{path}: no value for {", ".join(missing)}; for example: ')
    assert not any(key in message.removeprefix(str(path)) for key in given)
    path.write_text(path.read_text() + message.partition('for example: ')[2].replace(', ', '\n') + '\n')
    assert read_map(path).occupancy.tolist() == [[100, 0]]


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'resolution': 0.0}, 'resolution 0.0 is not above 0'),
        ({'resolution': -0.05}, 'resolution -0.05 is not above 0'),
        ({'resolution': '.nan'}, 'resolution nan is not a finite number'),
        ({'resolution': 'fine'}, "resolution 'fine' is not a finite number"),
        ({'resolution': 'true'}, 'resolution True is not a finite number'),
        ({'origin': [0.0, 0.0]}, 'origin [0.0, 0.0] is not a list [x, y, yaw]'),
        ({'origin': 7}, 'origin 7 is not a list [x, y, yaw]'),
        ({'origin': '[0, .inf, 0]'}, 'origin inf is not a finite number'),
        ({'negate': 2}, 'negate 2 is not 0 or 1'),
        ({'negate': 'maybe'}, "negate 'maybe' is not 0 or 1"),
        ({'free_thresh': 0.65}, 'free_thresh 0.65 is not below occupied_thresh 0.65'),
        ({'free_thresh': 0.9}, 'free_thresh 0.9 is not below occupied_thresh 0.65'),
        ({'free_thresh': -0.1}, 'free_thresh -0.1 is not between 0 and 1'),
        ({'occupied_thresh': 65}, 'occupied_thresh 65.0 is not between 0 and 1'),
        ({'mode': 'binary'}, "mode 'binary' is not one of trinary, scale, raw"),
    ],
)
def test_bad_description_is_refused_with_value_and_limit(tmp_path, changes, message):
    path = write_yaml_map(tmp_path, [[0]], **changes)
    assert message_of(path) == f'{path}: {message}'


def test_resolution_may_be_written_with_an_exponent(tmp_path):
    assert read_map(write_yaml_map(tmp_path, [[0]], resolution='5e-2')).resolution_m == 0.05


def test_text_that_is_no_description_is_refused(write):
    path = write('room.yaml', 'just some words')
    assert message_of(path) == f'{path}: holds no keys and values'
    path = write('room.yaml', 'image: [unclosed')
    assert message_of(path).startswith(f'{path}: not YAML: ')


def test_missing_and_broken_images_are_refused_by_name(tmp_path):
    path = write_description(tmp_path, image='gone.pgm')
    assert message_of(path) == f'{path}: there is no image {tmp_path / "gone.pgm"}'
    (tmp_path / 'gone.pgm').write_bytes(b'not an image')
    assert message_of(path).startswith(f'{path}: image {tmp_path / "gone.pgm"} cannot be read: ')
    (tmp_path / 'gone.pgm').write_bytes(b'P5\n100 100\n255\n\x00\x00')
    assert message_of(path).startswith(f'{path}: image {tmp_path / "gone.pgm"} cannot be read: ')


def test_points_of_the_world_and_cells_agree(tmp_path):
    room = read_map(write_yaml_map(tmp_path, np.zeros((4, 6)), resolution=0.5, origin=[-1.0, 2.0, 0.0]))
    assert room.geometry.cell_at(-1.0, 2.0) == (0, 0)
    assert room.geometry.cell_at(-0.51, 3.99) == (0, 3)
    assert room.geometry.cell_at(-1.01, 2.0) == (-1, 0)
    assert room.geometry.centre_of((0, 0)) == (-0.75, 2.25)


def test_a_turned_origin_turns_the_cells_with_it(tmp_path):
    room = read_map(write_yaml_map(tmp_path, np.zeros((4, 6)), resolution=0.5, origin=[1.0, 2.0, math.pi / 2]))
    assert room.geometry.centre_of((3, 1)) == pytest.approx((1.0 - 0.75, 2.0 + 1.75))
    for cell in np.ndindex(6, 4):
        assert room.geometry.cell_at(*room.geometry.centre_of(cell)) == cell


def test_every_octile_map_of_the_folder_is_read_and_its_problems_lie_inside(maps_folder):
    paths = sorted(maps_folder.rglob('*.scen'))
    assert paths
    for path in paths:
        octile = read_map(path.with_suffix(''))
        for problem in read_problems(path):
            assert (problem.map_width, problem.map_height) == (octile.width, octile.height)
            assert all(0 <= x < octile.width and 0 <= y < octile.height for x, y in (problem.start, problem.goal))


def test_problems_outside_of_warcraft_start_and_end_on_free_cells(maps_folder):
    for path in sorted(maps_folder.rglob('*.scen')):
        if path.parent.name != 'wc3maps512':
            blocked = read_map(path.with_suffix('')).blocked
            ends = [cell for problem in read_problems(path) for cell in (problem.start, problem.goal)]
            columns, rows = np.array(ends).T
            assert not blocked[rows, columns].any()


def test_every_map_server_map_beside_the_folder_is_read(maps_folder):
    paths = sorted((maps_folder.parent / 'ros').glob('*.yaml'))
    if not paths:
        pytest.skip(f'no map_server maps in {maps_folder.parent / "ros"}')
    for path in paths:
        assert {0, 100} <= set(np.unique(read_map(path).occupancy).tolist()) <= {-1, 0, 100}
