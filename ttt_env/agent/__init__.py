"""The interface that every way to play shares, and how agents are found by name."""

from ttt_env.agent.asked import AskedAgent, FunctionAgent, answer_of, function_name, takes_rng
from ttt_env.agent.copying import CopyableLock
from ttt_env.agent.explanation import CellNumbers, Explanation, PartExplanation, Unit, named_cells
from ttt_env.agent.interface import (
    Agent,
    AgentLike,
    AgentNames,
    Choice,
    Model,
)
from ttt_env.agent.learner import NO_LIMIT, Budget, Learner, Log, learner_class, learner_names
from ttt_env.agent.making import game_of, make_agent, named_agents, parameters_of
from ttt_env.agent.policies import (
    ACCIDENTS,
    FORFEITS,
    NEGLIGIBLE,
    ROUNDING,
    Answer,
    Floats,
    Forfeit,
    Outcome,
    chances,
    checked_policies,
    checked_policy,
    chosen_cell,
    generator_of,
    of_legal_cells,
    quote_reply,
    read_cell,
    sample,
    sample_each,
)
from ttt_env.agent.registry import (
    ENTRY_POINT_GROUP,
    agent_class,
    agent_names,
    installed,
    is_of_package,
    name_of,
)
from ttt_env.agent.waiting import waiting_for, waiting_text
