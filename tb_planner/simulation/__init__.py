"""The simulator without ROS: a robot in a world that is static, changing or unknown."""
