"""The SROS2 policies against the running nodes, and their structure."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ('policy.xml', 'planner_least_privilege.xml')
RIGHTS = {'topics': {'publish', 'subscribe'}, 'services': {'reply', 'request'}, 'actions': {'execute', 'call'}}


@pytest.fixture(scope='module')
def script():
    spec = importlib.util.spec_from_file_location('sros2_policy', ROOT / 'docs' / 'sros2_policy.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(file):
    return ElementTree.parse(ROOT / 'config' / 'sros2' / file).getroot()


@pytest.mark.parametrize('file', FILES)
def test_a_policy_allows_what_the_running_nodes_do_and_nothing_else(script, file, ros_environment):
    for package in ('bond', 'map_msgs', 'nav2_msgs', 'tf2_msgs'):
        pytest.importorskip(package)
    assert script.make_policy(script.POLICIES[file]) == (ROOT / 'config' / 'sros2' / file).read_text()


@pytest.mark.parametrize('file', FILES)
def test_a_policy_has_the_structure_of_sros2s_format(file):
    policy = read(file)
    assert (policy.tag, policy.attrib) == ('policy', {'version': '0.2.0'})
    (enclaves,) = policy
    for enclave in enclaves:
        assert (enclave.tag, set(enclave.attrib)) == ('enclave', {'path'})
        (profiles,) = enclave
        assert profiles.tag == 'profiles'
        for profile in profiles:
            assert (profile.tag, set(profile.attrib)) == ('profile', {'ns', 'node'})
            assert len(profile)
            for group in profile:
                assert set(group.attrib) < RIGHTS[group.tag]
                assert set(group.attrib.values()) == {'ALLOW'}
                assert {f'{entry.tag}s' for entry in group} == {group.tag}
                assert all(entry.text and '*' not in entry.text for entry in group)


def test_the_least_privilege_policy_is_a_part_of_the_whole_one():
    def entries(file):
        return {
            (enclave.get('path'), profile.get('node'), *group.attrib, entry.text)
            for enclave in read(file).iter('enclave')
            for profile in enclave.iter('profile')
            for group in profile
            for entry in group
        }

    assert entries(FILES[1]) < entries(FILES[0])
