"""What several test files share: oracles, generated maps, ROS peers, a browser."""
