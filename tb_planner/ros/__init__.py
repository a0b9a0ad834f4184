"""The edge to ROS 2: messages, parameters and nodes. Nothing outside this folder imports ROS."""
