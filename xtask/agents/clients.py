"""The Python clients, over standard input and output and over HTTP: list the tools, run a job, wait for
it, read its output, and be told of another one.

    clients.py mcp|fastmcp stdio|http OUTLIVE DIRECTORY
"""

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

TOOLS = {"run", "jobs", "show", "log", "wait", "send", "stop", "inbox"}


@asynccontextmanager
async def listening(outlive, env):
    """A server on a free port of this machine; its address and token, as it says them."""
    args = [outlive, "mcp", "--http", "127.0.0.1:0", "--session", "python"]
    server = subprocess.Popen(args, env=env, stderr=subprocess.PIPE, text=True)
    try:
        url = server.stderr.readline().split()[-1]
        token = server.stderr.readline().split()[-1]
        yield url, token
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


@asynccontextmanager
async def with_mcp(outlive, env, transport):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    @asynccontextmanager
    async def session(streams):
        async with ClientSession(streams[0], streams[1]) as client:
            await client.initialize()

            async def tools():
                return [tool.name for tool in (await client.list_tools()).tools]

            async def call(name, /, **arguments):
                result = await client.call_tool(name, arguments)
                assert not is_error(result), result
                return structured(result)

            yield tools, call

    if transport == "stdio":
        args = ["mcp", "--session", "python"]
        server = StdioServerParameters(command=outlive, args=args, env=env)
        async with stdio_client(server) as streams, session(streams) as client:
            yield client
        return
    async with listening(outlive, env) as (url, token):
        async with http_streams(url, token) as streams, session(streams) as client:
            yield client


@asynccontextmanager
async def http_streams(url, token):
    """Both ways in which versions of `mcp` take headers."""
    from mcp.client import streamable_http as http

    headers = {"Authorization": f"Bearer {token}"}
    if hasattr(http, "streamable_http_client"):
        from mcp.shared._httpx_utils import create_mcp_http_client

        async with create_mcp_http_client(headers=headers) as connection:
            async with http.streamable_http_client(url, http_client=connection) as streams:
                yield streams
    else:
        async with http.streamablehttp_client(url, headers=headers) as streams:
            yield streams


@asynccontextmanager
async def with_fastmcp(outlive, env, transport):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    @asynccontextmanager
    async def session(to):
        async with Client(to) as client:

            async def tools():
                return [tool.name for tool in await client.list_tools()]

            async def call(name, /, **arguments):
                result = await client.call_tool(name, arguments)
                return result.structured_content

            yield tools, call

    if transport == "stdio":
        args = ["mcp", "--session", "python"]
        to = StdioTransport(outlive, args, env=env, keep_alive=False)
        async with session(to) as client:
            yield client
        return
    async with listening(outlive, env) as (url, token):
        async with session(StreamableHttpTransport(url, auth=token)) as client:
            yield client


def is_error(result):
    return getattr(result, "isError", None) or getattr(result, "is_error", None)


def structured(result):
    for name in ("structuredContent", "structured_content"):
        if getattr(result, name, None) is not None:
            return getattr(result, name)
    raise AssertionError(f"no structured content: {result}")


async def check(tools, call):
    assert set(await tools()) == TOOLS, await tools()
    ran = await call("run", command="echo one; echo two; exit 3", name="first")
    assert ran["job"]["name"] == "first", ran
    waited = await call("wait", ids=["first"])
    assert waited["jobs"][0]["exit_code"] == 3, waited
    log = await call("log", id="first")
    assert log["text"] == "one\ntwo\n", log
    # What was waited for was told by that.
    assert (await call("inbox"))["events"] == []
    await call("run", command="sleep 0.3; exit 4", name="second")
    told = await call("inbox", wait_seconds=20)
    [event] = told["events"]
    assert event["kind"] == "ended" and "exit code 4" in event["text"], event
    assert (await call("inbox"))["events"] == []
    assert len((await call("jobs", state="all"))["jobs"]) == 2


async def main(library, transport, outlive, directory):
    env = {**os.environ, "OUTLIVE_HOME": os.path.join(directory, "outlive")}
    client = {"mcp": with_mcp, "fastmcp": with_fastmcp}[library]
    async with client(outlive, env, transport) as (tools, call):
        await check(tools, call)
    print(f"{library} {version(library)}: tools, run, wait, log, inbox")


asyncio.run(main(*sys.argv[1:]))
