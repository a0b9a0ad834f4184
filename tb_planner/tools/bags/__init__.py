"""ROS 2 bags, sqlite3 or mcap, read without ROS: map, map updates, pose and goal, in the order they were recorded."""

from tb_planner.tools.bags.bag import Bag, Event, GivenGoal, Goal, is_bag, not_a_bag, open_bag
from tb_planner.tools.bags.topics import BagError, Topics

__all__ = ['Bag', 'BagError', 'Event', 'GivenGoal', 'Goal', 'Topics', 'is_bag', 'not_a_bag', 'open_bag']
