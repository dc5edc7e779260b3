"""The MCP door: `recollect mcp`, over standard input and output or over HTTP. Needs the extra `recollect[mcp]`.

`from mcp import …` in here means the SDK: imports within the package are relative.
"""
