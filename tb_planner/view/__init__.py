"""The replay page: a record of a run in a browser."""

from tb_planner.view.page import make_live_page, make_page

__all__ = ['make_live_page', 'make_page']
