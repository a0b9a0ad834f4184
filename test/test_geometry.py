"""MapGeometry: metres to cells and back, on shifted and rotated maps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_planner.geometry import MapGeometry
from tb_planner.maps.files import Map

metres = st.floats(-1e4, 1e4)
geometries = st.builds(
    MapGeometry,
    st.integers(1, 4000),
    st.integers(1, 4000),
    st.floats(0.01, 5.0),
    st.tuples(metres, metres, st.floats(-10.0, 10.0)),
)


def by_complex_numbers(geometry, x_m, y_m):
    """The same map by other means: shift, turn back, scale."""
    x0, y0, yaw = geometry.origin
    z = (complex(x_m, y_m) - complex(x0, y0)) * complex(math.cos(yaw), -math.sin(yaw)) / geometry.resolution_m
    return z.real, z.imag


@given(geometries, metres, metres)
def test_a_point_of_the_world_has_the_grid_coordinates_that_complex_numbers_give_it(geometry, x_m, y_m):
    expected = by_complex_numbers(geometry, x_m, y_m)
    assert geometry.to_grid(x_m, y_m) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(geometries, metres, metres)
def test_to_world_undoes_to_grid(geometry, x_m, y_m):
    assert geometry.to_world(*geometry.to_grid(x_m, y_m)) == pytest.approx((x_m, y_m), rel=1e-9, abs=1e-6)


@given(geometries, st.tuples(st.integers(-4000, 8000), st.integers(-4000, 8000)))
def test_the_centre_of_a_cell_lies_in_that_cell(geometry, cell):
    assert geometry.cell_at(*geometry.centre_of(cell)) == cell


@given(geometries, st.lists(st.tuples(st.integers(0, 3999), st.integers(0, 3999)), max_size=20))
def test_arrays_are_turned_like_single_points(geometry, cells):
    cells = np.array(cells, np.int32).reshape(-1, 2)
    centres = geometry.to_world_array(cells)
    assert centres.shape == cells.shape
    assert centres.dtype == np.float64
    for cell, centre in zip(cells.tolist(), centres.tolist()):
        assert centre == pytest.approx(geometry.centre_of(cell), rel=1e-9, abs=1e-6)
    assert geometry.to_grid_array(centres) == pytest.approx(cells + 0.5, rel=1e-9, abs=1e-6)


def test_a_quarter_turn_lays_the_grid_s_x_along_the_world_s_y():
    geometry = MapGeometry(20, 10, 0.5, (3.0, -1.0, math.pi / 2))
    assert geometry.to_world(4.0, 0.0) == pytest.approx((3.0, 1.0))
    assert geometry.to_world(0.0, 4.0) == pytest.approx((1.0, -1.0))
    assert geometry.cell_at(2.9, -0.9) == (0, 0)


def test_a_point_on_the_line_between_two_cells_belongs_to_the_greater_one():
    geometry = MapGeometry(10, 10, 0.25)
    assert geometry.cell_at(0.5, 0.0) == (2, 0)
    assert geometry.cell_at(-0.001, 0.0) == (-1, 0)


def test_only_cells_of_the_map_are_contained():
    geometry = MapGeometry(4, 3, 1.0)
    inside = [(x, y) for x in range(-2, 7) for y in range(-2, 7) if geometry.contains((x, y))]
    assert inside == [(x, y) for x in range(4) for y in range(3)]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((0, 5, 0.1), 'the map is 0 x 5 cells; it must have at least 1 x 1'),
        ((5, -1, 0.1), 'the map is 5 x -1 cells; it must have at least 1 x 1'),
        ((5, 5, 0.0), 'resolution is 0.0 m; it must be finite and above 0'),
        ((5, 5, -0.1), 'resolution is -0.1 m; it must be finite and above 0'),
        ((5, 5, math.nan), 'resolution is nan m; it must be finite and above 0'),
        (
            (5, 5, 0.1, (0.0, math.inf, 0.0)),
            r'origin is \(0.0, inf, 0.0\); it must be three finite numbers',
        ),
        (
            (5, 5, 0.1, (0.0, 0.0, math.nan)),
            r'origin is \(0.0, 0.0, nan\); it must be three finite numbers',
        ),
    ],
)
def test_a_map_that_lies_nowhere_is_refused_with_value_and_limit(arguments, message):
    with pytest.raises(ValueError, match=message):
        MapGeometry(*arguments)


def test_equal_geometries_are_equal():
    assert MapGeometry(4, 3, 0.1, (1.0, 2.0, 0.0)) == MapGeometry(4, 3, 0.1, (1.0, 2.0, 0.0))
    assert MapGeometry(4, 3, 0.1, (1.0, 2.0, 0.0)) != MapGeometry(4, 3, 0.1, (1.0, 2.001, 0.0))


def test_a_map_from_a_file_has_the_geometry_of_its_file():
    occupancy = np.zeros((3, 4), np.int8)
    a_map = Map('hall', occupancy, 0.05, (-1.0, 2.0, 0.3), y_up=True)
    assert a_map.geometry == MapGeometry(4, 3, 0.05, (-1.0, 2.0, 0.3))
