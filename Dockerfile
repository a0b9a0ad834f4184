# Unrun: written by the documentation of Docker and ROS, and checked with hadolint. In a clone:
#
#   docker run --rm --network host "$(docker build --quiet .)"                 the demo
#   docker run --rm --network host "$(docker build --quiet --target nav2 .)"   Nav2's loopback simulation with tb_planner
#
# The demo prints its summary; with `tb_planner demo --view` after the image's name a browser shows it on port 8642.
# Other distributions: --build-arg ROS_DISTRO=kilted
ARG ROS_DISTRO=jazzy

FROM ros:${ROS_DISTRO}-ros-base AS dependencies
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /ws
COPY package.xml src/tb_planner/
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential python3-venv \
    && rosdep update --rosdistro "$ROS_DISTRO" \
    && rosdep install --from-paths src --ignore-src --default-yes \
    && rm -rf /var/lib/apt/lists/*

FROM dependencies AS built
COPY . src/tb_planner
RUN source "/opt/ros/$ROS_DISTRO/setup.bash" && colcon build --packages-select tb_planner
ENTRYPOINT ["/bin/bash", "-c", "source /ws/install/setup.bash && exec \"$@\"", "--"]

FROM built AS nav2
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends "ros-$ROS_DISTRO-navigation2" "ros-$ROS_DISTRO-nav2-bringup" \
    && rm -rf /var/lib/apt/lists/*
# tb_planner in place of planner_server; send a goal to /navigate_to_pose from another terminal
CMD ["ros2", "launch", "tb_planner", "nav2_drop_in.launch.py", "bringup:=tb3_loopback_simulation.launch.py", "use_rviz:=False"]

FROM built AS demo
CMD ["tb_planner", "demo"]
