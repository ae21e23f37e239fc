/**
 * A small game for the engine's tests: a cellar with two rooms, a chest, a shelf, pearls and a lamp.
 *
 * Invariants
 * - It uses every part of PDDL and of the text grammar that the engine reads.
 */
import type { GameSource } from './game.ts'

/** The toy's PDDL domain. */
export const toyDomain = `
(define (domain cellar) ; comments count for nothing
 (:requirements :adl :typing)
 (:types agent place holder thing kind)
 (:predicates (in ?a - agent ?p - place) (stands ?h - holder ?p - place) (lidded ?h - holder) (up ?h - holder)
   (inside ?t - thing ?h - holder) (has ?a - agent ?t - thing) (busy ?a - agent) (is ?t - thing ?k - kind)
   (lit ?t - thing) (touched ?t - thing) (seen ?p - place))
 (:action look :parameters (?a - agent ?p - place) :precondition (in ?a ?p) :effect (seen ?p))
 (:action walk :parameters (?a - agent ?From - place ?to - place)
   :precondition (in ?a ?From) :effect (and (not (in ?a ?From)) (in ?a ?to) (increase (total-cost) 1)))
 (:action lift :parameters (?a - agent ?p - place ?h - holder)
   :precondition (and (in ?a ?p) (stands ?h ?p) (lidded ?h) (not (up ?h))) :effect (up ?h))
 (:action get :parameters (?a - agent ?t - thing ?h - holder)
   :precondition (and (not (busy ?a)) (inside ?t ?h) (imply (lidded ?h) (up ?h))
     (exists (?p - place) (and (in ?a ?p) (stands ?h ?p))))
   :effect (and (has ?a ?t) (busy ?a) (not (inside ?t ?h)) (touched ?t)))
 (:action lay :parameters (?a - agent ?t - thing ?h - holder ?p - place)
   :precondition (and (has ?a ?t) (in ?a ?p) (stands ?h ?p) (or (not (lidded ?h)) (up ?h)))
   :effect (and (inside ?t ?h) (not (has ?a ?t)) (not (busy ?a))))
 (:action rub :parameters (?a - agent ?t - thing)
   :precondition (and (has ?a ?t) (is ?t lampKind))
   :effect (and (when (lit ?t) (not (lit ?t))) (when (not (lit ?t)) (lit ?t))))
 (:action help :parameters (?a - agent) :precondition () :effect (seen ?a)))
`

/** The toy's text grammar. */
const toyGrammar = `
# the texts of the cellar
grammar :: """
{
  "intro": [{ "rhs": "Down here.\\n\\n#look.feedback#\\n\\n#task#" }],
  "task": [{ "rhs": "@@TASK@@" }],
  "holder": [
    { "condition": "lidded(h:holder) & up(h:holder)", "rhs": "the open {h.name} with [{t.indefinite + ' ' + t.name | inside(t:thing, h:holder)}]" },
    { "condition": "lidded(h:holder)", "rhs": "the shut {h}" },
    { "rhs": "the {h.name or h.id} with [{#piece# | inside(t:thing, h:holder)}]" }
  ],
  "piece": [{ "condition": "lit(t:thing)", "rhs": "a shining {t.name}" }, { "rhs": "a {t.name}" }],
  "list_empty": [{ "rhs": "nothing" }],
  "list_separator": [{ "rhs": ", " }],
  "list_last_separator": [{ "rhs": ", and " }]
}
""";
action look {
  template :: "look";
  feedback :: "#look.feedback#";
  grammar :: """
  {
    "look.feedback": [
      { "condition": "in(a:agent, p:place) & stands(h:holder, p:place)", "rhs": "You see [{#holder# | in(a:agent, p:place) & stands(h:holder, p:place)}]#gone#." },
      { "rhs": "You see bare walls." }
    ],
    "gone": [
      { "condition": "not_inside(t:thing, h:holder)", "rhs": ", missing: [{t.name + ' of ' + h.name | not_inside(t:thing, h:holder)}]" },
      { "rhs": "" }
    ]
  }
  """;
}
action walk { template :: "walk to {to.name}"; feedback :: "#look.feedback#"; }
action lift { template :: "lift {h}"; feedback :: "You lift the lid of {h.name}."; }
action get { template :: "get {t} from {h}"; feedback :: "You have {t.name}."; }
action lay { template :: "lay {t} on [{h.name | stands(h:holder, p:place)}]"; feedback :: "{t.name} lies on {h.name}."; }
action rub { template :: "rub {t}"; feedback :: "It is [{t.name | lit(t:thing)}]."; }
action help { template :: "help"; feedback :: "
Walk, lift, get, lay, rub.
"; }
`

/** The toy's PDDL problem. */
export const toyProblem = `
(define (problem cellar-1) (:domain cellar)
 (:objects me - agent  Vault_bar_1 Vault_bar_2 - place  Chest_bar_a Shelf_bar_a Shelf_bar_b - holder
   Pearl_bar_1 Pearl_bar_2 Pearl_bar_3 Lamp_bar_1 - thing  LampKind PearlKind - kind)
 (:init (in me Vault_bar_1) (stands Chest_bar_a Vault_bar_1) (stands Shelf_bar_a Vault_bar_2) (stands Shelf_bar_b Vault_bar_2)
   (lidded Chest_bar_a) (inside Pearl_bar_1 Chest_bar_a) (inside Pearl_bar_3 Chest_bar_a) (inside Lamp_bar_1 Chest_bar_a)
   (inside Pearl_bar_2 Shelf_bar_b) (is Lamp_bar_1 LampKind)
   (is Pearl_bar_1 PearlKind) (is Pearl_bar_2 PearlKind) (is Pearl_bar_3 PearlKind) (= (total-cost) 0))
 (:goal (and (exists (?h - holder) (exists (?x - thing) (and (is ?x PearlKind) (inside ?x ?h)
     (exists (?y - thing) (and (not (= ?x ?y)) (is ?y PearlKind) (inside ?y ?h) (not (lidded ?h)))))))
   (exists (?l - thing) (lit ?l)))))
`

/** The toy as a game. */
export const toy: GameSource = {
  id: 'toy/1',
  domain: toyDomain,
  grammar: toyGrammar,
  problem: toyProblem,
  task: 'Bring two pearls to a shelf and light the lamp.',
  walkthrough: [
    'lift chest 1',
    'get lamp 1 from chest 1',
    'rub lamp 1',
    'lay lamp 1 on chest 1',
    'get pearl 3 from chest 1',
    'walk to vault 1',
    'lay pearl 3 on shelf 1',
  ],
}
