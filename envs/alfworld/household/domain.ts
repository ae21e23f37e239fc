/**
 * The household's rules, in the PDDL dialect that the engine plays.
 *
 * Invariants
 * - One thing is carried at a time.
 * - Nothing can be taken out of closed furniture or put into it.
 * - Heating undoes cooling and cooling undoes heating; washing stays.
 * - A lamp that was switched on stays on.
 */

/** The PDDL domain of every built-in game. */
export const householdDomain = `(define (domain household)
 (:requirements :adl :typing)
 (:types agent location receptacle object rtype otype)
 (:predicates
    (at ?a - agent ?l - location)
    (stands ?r - receptacle ?l - location)
    (form ?r - receptacle ?t - rtype)
    (kind ?o - object ?t - otype)
    (fits ?t - rtype ?k - otype)
    (lies ?o - object ?r - receptacle)
    (carries ?a - agent ?o - object)
    (busy ?a - agent)
    (seen ?r - receptacle)
    (asked ?a - agent)
    (closable ?r - receptacle)
    (ajar ?r - receptacle)
    (portable ?o - object)
    (washes ?r - receptacle)
    (warms ?r - receptacle)
    (chills ?r - receptacle)
    (washable ?o - object)
    (warmable ?o - object)
    (chillable ?o - object)
    (clean ?o - object)
    (hot ?o - object)
    (cold ?o - object)
    (switchable ?o - object)
    (lit ?o - object)
 )

 (:action Look
    :parameters (?a - agent ?l - location)
    :precondition (and (at ?a ?l))
    :effect (and (asked ?a))
 )

 (:action Inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (and (asked ?a))
 )

 (:action Help
    :parameters (?a - agent)
    :precondition ()
    :effect (and (asked ?a))
 )

 (:action Go
    :parameters (?a - agent ?from - location ?to - location ?r - receptacle)
    :precondition (and (at ?a ?from) (stands ?r ?to))
    :effect (and (not (at ?a ?from)) (at ?a ?to))
 )

 (:action Examine
    :parameters (?a - agent ?r - receptacle)
    :precondition (and (exists (?l - location) (and (at ?a ?l) (stands ?r ?l))))
    :effect (and (seen ?r))
 )

 (:action Open
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (closable ?r) (at ?a ?l) (stands ?r ?l) (not (ajar ?r)))
    :effect (and (ajar ?r) (seen ?r))
 )

 (:action Close
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (closable ?r) (at ?a ?l) (stands ?r ?l) (ajar ?r))
    :effect (and (not (ajar ?r)))
 )

 (:action Take
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (portable ?o) (at ?a ?l) (stands ?r ?l) (lies ?o ?r)
        (not (busy ?a))
        (or (not (closable ?r)) (ajar ?r)))
    :effect (and (not (lies ?o ?r)) (carries ?a ?o) (busy ?a))
 )

 (:action Put
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?k - otype ?t - rtype)
    :precondition (and
        (carries ?a ?o) (at ?a ?l) (stands ?r ?l)
        (or (not (closable ?r)) (ajar ?r))
        (kind ?o ?k) (form ?r ?t) (fits ?t ?k))
    :effect (and (lies ?o ?r) (not (carries ?a ?o)) (not (busy ?a)))
 )

 (:action Clean
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and (washable ?o) (washes ?r) (at ?a ?l) (stands ?r ?l) (carries ?a ?o))
    :effect (and (clean ?o))
 )

 (:action Heat
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and (warmable ?o) (warms ?r) (at ?a ?l) (stands ?r ?l) (carries ?a ?o))
    :effect (and (hot ?o) (not (cold ?o)))
 )

 (:action Cool
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and (chillable ?o) (chills ?r) (at ?a ?l) (stands ?r ?l) (carries ?a ?o))
    :effect (and (cold ?o) (not (hot ?o)))
 )

 (:action Use
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and (switchable ?o) (at ?a ?l) (stands ?r ?l) (lies ?o ?r))
    :effect (and (lit ?o))
 )
)
`
