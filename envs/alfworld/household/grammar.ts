/**
 * What the household says: the text grammar of every built-in game.
 *
 * Invariants
 * - Every text is short and regular: a place, then what is seen there.
 * - What lies in closed furniture is never named.
 */

/** The text grammar of every built-in game; the task line takes the place of `@@TASK@@`. */
export const householdGrammar = `grammar :: """
    {
        "intro": [{ "rhs": "#Look.feedback#\\n#task#" }],
        "task": [{ "rhs": "@@TASK@@" }],
        "contents": [
            {
                "condition": "closable(r:receptacle) & ajar(r:receptacle)",
                "rhs": "In {r.name}: [{o.name | lies(o:object, r:receptacle)}]."
            },
            { "condition": "closable(r:receptacle)", "rhs": "{r.name} is closed." },
            { "rhs": "On {r.name}: [{o.name | lies(o:object, r:receptacle)}]." }
        ],
        "places": [
            {
                "condition": "at(a:agent, l:location) & stands(r:receptacle, l:location)",
                "rhs": "You are at [{r.name | at(a:agent, l:location) & stands(r:receptacle, l:location)}]."
            },
            { "rhs": "You see [{r.name | stands(r:receptacle, p:location)}]." }
        ],
        "burden": [
            { "condition": "busy(a:agent)", "rhs": "You carry [{o.name | carries(a:agent, o:object)}]." },
            { "rhs": "You carry nothing." }
        ],
        "list_empty": [{ "rhs": "nothing" }],
        "list_separator": [{ "rhs": ", " }],
        "list_last_separator": [{ "rhs": ", " }]
    }
""";

action Look {
    template :: "look";
    feedback :: "#Look.feedback#";
    grammar :: """
        { "Look.feedback": [{ "rhs": "#places#" }] }
    """;
}

action Inventory {
    template :: "inventory";
    feedback :: "#burden#";
}

action Go {
    template :: "go to {r}";
    feedback :: "#contents#";
}

action Examine {
    template :: "examine {r}";
    feedback :: "#contents#";
}

action Open {
    template :: "open {r}";
    feedback :: "#contents#";
}

action Close {
    template :: "close {r}";
    feedback :: "#contents#";
}

action Take {
    template :: "take {o} from {r}";
    feedback :: "#Take.feedback#";
    grammar :: """
        { "Take.feedback": [{ "rhs": "You take {o.name}." }] }
    """;
}

action Put {
    template :: "put {o} at {r}";
    feedback :: "#Put.feedback#";
    grammar :: """
        { "Put.feedback": [{ "rhs": "You put {o.name} at {r.name}." }] }
    """;
}

action Clean {
    template :: "clean {o} with {r}";
    feedback :: "#Clean.feedback#";
    grammar :: """
        { "Clean.feedback": [{ "rhs": "{o.name} is clean." }] }
    """;
}

action Heat {
    template :: "heat {o} with {r}";
    feedback :: "#Heat.feedback#";
    grammar :: """
        { "Heat.feedback": [{ "rhs": "{o.name} is hot." }] }
    """;
}

action Cool {
    template :: "cool {o} with {r}";
    feedback :: "#Cool.feedback#";
    grammar :: """
        { "Cool.feedback": [{ "rhs": "{o.name} is cold." }] }
    """;
}

action Use {
    template :: "use {o}";
    feedback :: "#Use.feedback#";
    grammar :: """
        { "Use.feedback": [{ "rhs": "{o.name} is on." }] }
    """;
}

action Help {
    template :: "help";
    feedback :: "You can: look, inventory, go to, examine, open, close, take from, put at, clean with, heat with, cool with, use.";
}
`
