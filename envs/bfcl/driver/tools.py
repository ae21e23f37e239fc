"""
Function documents as tools.

Invariants
- A tool is what the package's conversion for OpenAI's form makes of its document.
"""

# GORILLA_TO_OPENAPI of the package, as far as multi-turn documents use it; what is not listed is a string.
OPENAPI_TYPES = {
    "integer": "integer",
    "number": "number",
    "float": "number",
    "string": "string",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "dict": "object",
    "object": "object",
    "tuple": "array",
}


def tool_of(document, short):
    """A function document as a tool: the package's conversion for OpenAI's form, without `response`."""
    description = document["description"]
    if short:
        description = description.rpartition("Tool description: ")[2]
    else:
        description += document.get("hint", "")
    parameters = {**document["parameters"], "type": "object"}
    parameters["properties"] = openapi_properties(parameters.get("properties", {}))
    return {
        "type": "function",
        "function": {"name": document["name"], "description": description, "parameters": parameters},
    }


def openapi_properties(properties):
    return {key: openapi_type(value) for key, value in properties.items()}


def openapi_type(schema):
    schema = dict(schema)
    if schema.get("type") == "float":
        schema["format"] = "float"
        schema["description"] = schema.get("description", "") + " This is a float type value."
    schema["type"] = OPENAPI_TYPES.get(schema.get("type"), "string")
    if schema["type"] in ("array", "object"):
        if "properties" in schema:
            schema["properties"] = openapi_properties(schema["properties"])
        elif "items" in schema:
            schema["items"] = openapi_items(schema["items"])
    return schema


def openapi_items(items):
    items = {**items, "type": OPENAPI_TYPES.get(items.get("type"), "string")}
    if items["type"] == "array" and "items" in items:
        items["items"] = openapi_items(items["items"])
    elif items["type"] == "object" and "properties" in items:
        items["properties"] = openapi_properties(items["properties"])
    return items
