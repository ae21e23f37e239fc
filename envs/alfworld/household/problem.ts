/**
 * A home and an errand, written as a PDDL problem of the household's domain.
 *
 * Invariants
 * - The same home gives the same text.
 * - Only kinds that are present are named, so that a problem stays small.
 */
import type { Errand } from '../settings.ts'
import {
  type Furniture,
  type FurnitureKind,
  fits,
  furniture,
  lamp,
  type Thing,
  type ThingKind,
  type Treatment,
  things,
} from './words.ts'

/** A thing and the position of the furniture it lies in. */
export interface Item {
  readonly kind: ThingKind | typeof lamp.name
  readonly place: number
}

/** The goal of a game. */
export interface Goal {
  readonly errand: Errand
  readonly thing: ThingKind
  /** Where it has to lie in the end; the lamp's place for `light`. */
  readonly destination: FurnitureKind
}

/** A home before the game starts. */
export interface Home {
  readonly furniture: readonly FurnitureKind[]
  readonly items: readonly Item[]
  readonly goal: Goal
}

const treatmentOf: Partial<Record<Errand, Treatment>> = { clean: 'clean', heat: 'hot', cool: 'cold' }
const appliancePredicate: Record<Treatment, string> = { clean: 'washes', hot: 'warms', cold: 'chills' }
const thingPredicate: Record<Treatment, string> = { clean: 'washable', hot: 'warmable', cold: 'chillable' }

/** The treatment that an errand asks for, if any. */
export function treatmentFor(errand: Errand): Treatment | undefined {
  return treatmentOf[errand]
}

/** The errand in words. @example taskLine({ errand: 'two', thing: 'cup', destination: 'shelf' }) // 'Task: put two cups on one shelf.' */
export function taskLine({ errand, thing, destination }: Goal): string {
  const where: Furniture = furniture[destination]
  const preposition = where.closable || where.treatment === 'clean' ? 'in' : 'on'
  if (errand === 'light') return `Task: look at a ${thing} under a lamp.`
  if (errand === 'two') return `Task: put two ${thing}s ${preposition} one ${destination}.`
  const treatment = treatmentFor(errand)
  return `Task: put a ${treatment === undefined ? '' : `${treatment} `}${thing} ${preposition} a ${destination}.`
}

/** The problem's text. */
export function problemText(name: string, home: Home): string {
  const places = home.furniture.map((kind, index) => ({
    kind,
    id: `${kind}_bar_${index}`,
    location: `loc_bar_${index}`,
  }))
  const items = home.items.map((item, index) => ({ ...item, id: `${item.kind}_bar_${index}` }))
  const placeKinds = [...new Set(home.furniture)]
  const itemKinds = [...new Set(home.items.map((item) => item.kind))]

  const facts = ['(at agent1 loc_bar_start)']
  for (const { kind, id, location } of places) {
    const { closable, treatment }: Furniture = furniture[kind]
    facts.push(`(stands ${id} ${location})`, `(form ${id} ${kind}Type)`)
    if (closable) facts.push(`(closable ${id})`)
    if (treatment !== undefined) facts.push(`(${appliancePredicate[treatment]} ${id})`)
  }
  for (const { kind, id, place } of items) {
    facts.push(`(lies ${id} ${places[place]?.id})`, `(kind ${id} ${kind}Type)`)
    if (kind === lamp.name) facts.push(`(switchable ${id})`)
    else {
      const { treatments }: Thing = things[kind]
      facts.push(`(portable ${id})`, ...treatments.map((treatment) => `(${thingPredicate[treatment]} ${id})`))
    }
  }
  for (const thing of itemKinds)
    if (thing !== lamp.name)
      for (const place of placeKinds) if (fits(thing, place)) facts.push(`(fits ${place}Type ${thing}Type)`)

  const objects = [
    'agent1 - agent',
    'loc_bar_start - location',
    ...places.map(({ location }) => `${location} - location`),
    ...places.map(({ id }) => `${id} - receptacle`),
    ...items.map(({ id }) => `${id} - object`),
    ...placeKinds.map((kind) => `${kind}Type - rtype`),
    ...itemKinds.map((kind) => `${kind}Type - otype`),
  ]
  return `(define (problem ${name})
 (:domain household)
 (:objects
${objects.map((line) => `    ${line}\n`).join('')} )
 (:init
${facts.map((line) => `    ${line}\n`).join('')} )
 (:goal
${goalText(home.goal)} )
)
`
}

function goalText({ errand, thing, destination }: Goal): string {
  const kind = `(kind ?o ${thing}Type)`
  const form = `(form ?r ${destination}Type)`
  if (errand === 'light')
    return `    (and
        (exists (?x - object ?r - receptacle ?a - agent ?l - location)
            (and (kind ?x ${lamp.name}Type) (lit ?x) (lies ?x ?r) (stands ?r ?l) (at ?a ?l)))
        (exists (?o - object ?a - agent)
            (and ${kind} (carries ?a ?o))))
`
  if (errand === 'two')
    return `    (and
        (exists (?r - receptacle)
            (exists (?o - object)
                (and ${kind} ${form} (lies ?o ?r)
                    (exists (?p - object)
                        (and (not (= ?o ?p)) (kind ?p ${thing}Type) ${form} (lies ?p ?r)))))))
`
  const treatment = treatmentFor(errand)
  return `    (and
        (exists (?r - receptacle)
            (exists (?o - object)
                (and ${kind} ${form} ${treatment === undefined ? '' : `(${treatment} ?o) `}(lies ?o ?r)))))
`
}
