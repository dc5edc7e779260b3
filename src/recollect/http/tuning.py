"""What an owner can set while everything runs, and what there is to set."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body

from ..errors import InvalidSetting
from ..memory import Memory
from ..recipes import Recipe
from ..wire import recipes_json
from . import shapes
from .desk import AtDesk, ToWrite
from .routing import Door

door = Door(tags=["settings"])
BY_WORDS = ("lexical", "tokens", "substring")
EXAMPLES = [{"rrf_k": 20, "weights": {"lexical": 0.5}}, {"recipe": "memsense@5"}, {"rrf_k": None}]


@door.get("/v1/settings", answers=dict[str, Any], summary="The settings in force")
async def settings(desk: AtDesk):
    return await desk.read(lambda memory: memory.settings())


@door.patch(
    "/v1/settings", answers=dict[str, Any], summary="Change settings, at once and everywhere",
    description="`recipe`, `weights`, or any field of a recipe; null goes back to the default.",
)  # fmt: skip
async def set_settings(desk: ToWrite, change: Annotated[dict[str, Any], Body(examples=EXAMPLES)]):
    return await desk.write(lambda memory: memory.update_settings(**change))


@door.get("/settings", answers=shapes.Weights, summary="The weights of the two ways to search")
async def weights(desk: AtDesk):
    return await desk.read(lambda memory: _weights(memory.recipe))


@door.patch("/settings", answers=shapes.Weights, summary="Change one of the two weights, or both")
async def set_weights(desk: ToWrite, change: shapes.Weights):
    def work(memory: Memory) -> dict[str, float]:
        recipe, given = memory.recipe, change.given()
        wanted = {route: given[name] for name in given for route in _kinds(recipe, name)}
        if wanted:
            memory.update_settings(weights=wanted)
        return _weights(memory.recipe)

    return await desk.write(work)


@door.get("/v1/recipes", answers=dict[str, Any], summary="The presets, and what a recipe may hold")
async def recipes(desk: AtDesk):
    return await desk.read(lambda memory: recipes_json())


@door.get("/v1/status", answers=dict[str, Any], summary="How much is remembered, and what waits")
async def status(desk: AtDesk):
    return await desk.read(lambda memory: memory.status())


def _weights(recipe: Recipe) -> dict[str, float]:
    def weight(kinds: tuple[str, ...]) -> float:
        return max((route.weight for route in recipe.routes if route.kind in kinds), default=0.0)

    return {"semanticWeight": weight(("vector",)), "keywordWeight": weight(BY_WORDS)}


def _kinds(recipe: Recipe, name: str) -> list[str]:
    """The kinds of routes a weight is for, those that the recipe has."""
    wanted = ("vector",) if name == "semanticWeight" else BY_WORDS
    found = sorted({route.kind for route in recipe.routes} & set(wanted))
    if not found:
        raise InvalidSetting(f"{recipe.name} has no route for {name}.", hint="Choose a recipe that has: PATCH /v1/settings.")
    return found
