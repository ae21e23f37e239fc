/**
 * The household's texts: the text grammar of every built-in game.
 *
 * Invariants
 * - Every text is short and regular: a place, then what is seen there.
 * - The contents of closed furniture are never named.
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

${showing('Inventory', 'inventory', 'burden')}
${showing('Go', 'go to {r}', 'contents')}
${showing('Examine', 'examine {r}', 'contents')}
${showing('Open', 'open {r}', 'contents')}
${showing('Close', 'close {r}', 'contents')}
${telling('Take', 'take {o} from {r}', 'You take {o.name}.')}
${telling('Put', 'put {o} at {r}', 'You put {o.name} at {r.name}.')}
${telling('Clean', 'clean {o} with {r}', '{o.name} is clean.')}
${telling('Heat', 'heat {o} with {r}', '{o.name} is hot.')}
${telling('Cool', 'cool {o} with {r}', '{o.name} is cold.')}
${telling('Use', 'use {o}', '{o.name} is on.')}
action Help {
    template :: "help";
    feedback :: "You can: look, inventory, go to, examine, open, close, take from, put at, clean with, heat with, cool with, use.";
}
`

/** An action that is answered by what the grammar says of the state. */
function showing(action: string, template: string, symbol: string): string {
  return `action ${action} {
    template :: "${template}";
    feedback :: "#${symbol}#";
}
`
}

/** An action with an answer of its own. */
function telling(action: string, template: string, answer: string): string {
  return `action ${action} {
    template :: "${template}";
    feedback :: "#${action}.feedback#";
    grammar :: """
        { "${action}.feedback": [{ "rhs": "${answer}" }] }
    """;
}
`
}
