"""Configs of topics (2), brokers (4) and groups (32)."""
from .protocol import NONE
from .story import until


def configs(client, kind, name, key):
    """[[name, value, source]] of one key, as the first node says."""
    rows = client.at(client.addresses[0], "DescribeConfigs", 4, IncludeSynonyms=False, IncludeDocumentation=False, Resources=[
        {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": [key]}])["Results"]
    return [[c["Name"], c["Value"], c["ConfigSource"]] for row in rows for c in row["Configs"]]


def alter(client, kind, name, key, value):
    """Sets it, however often that takes."""
    def done():
        row = client.at(client.addresses[0], "IncrementalAlterConfigs", 1, ValidateOnly=False, Resources=[
            {"ResourceType": kind, "ResourceName": name, "Configs": [{"Name": key, "ConfigOperation": 0, "Value": value}]}])["Responses"][0]
        return row["ErrorCode"] == NONE
    until(f"{key} of {name} is altered", done, 10)
