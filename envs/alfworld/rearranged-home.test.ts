import { expect, test } from 'vitest'
import type { GameSource } from '../../worlds/text-adventure/game.ts'
import { Draw } from '../generated/draw.ts'
import { rearranged } from './rearranged-home.ts'

/** Two mugs, one in a box in a drawer, a sink, a fridge that no errand needs. */
const problem = `(define (problem p) (:domain alfred)
 (:objects agent1 - agent
   Drawer_bar_1 Drawer_bar_2 Drawer_bar_3 Desk_bar_1 Fridge_bar_1 Sink_bar_1_bar_SinkBasin - receptacle
   Mug_bar_1 Mug_bar_2 Box_bar_1 Pen_bar_1 - object loc_bar_1 loc_bar_2 - location)
 (:init (receptacleType Drawer_bar_1 DrawerType) (receptacleType Drawer_bar_2 DrawerType) (receptacleType Drawer_bar_3 DrawerType)
   (receptacleType Desk_bar_1 DeskType) (receptacleType Fridge_bar_1 FridgeType) (receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType)
   (objectType Mug_bar_1 MugType) (objectType Mug_bar_2 MugType) (objectType Box_bar_1 BoxType) (objectType Pen_bar_1 PenType)
   (inReceptacle Mug_bar_1 Drawer_bar_1) (inReceptacle Box_bar_1 Drawer_bar_2) (inReceptacleObject Mug_bar_2 Box_bar_1)
   (inReceptacle Pen_bar_1 Fridge_bar_1) (atLocation agent1 loc_bar_1))
 (:goal (exists (?o - object) (objectType ?o MugType))))`
const source: GameSource = {
  id: 'train/mug/1',
  domain: '',
  grammar: '',
  problem,
  task: 'Your task is to: clean some mug and put it in desk.',
  walkthrough: ['look'],
}

/** The facts of a predicate in many homes. */
const homes = Array.from({ length: 200 }, (_, seed) => rearranged(source, new Draw(seed)))
const factsOf = (text: string, predicate: string) =>
  [...text.matchAll(new RegExp(`\\(${predicate} (\\S+) (\\S+)\\)`, 'g'))].map(
    ([, one = '', two = '']) => [one, two] as const,
  )

test('[REARRANGED-1] the same draws give the same home, without the walkthrough of the old one', () => {
  expect(rearranged(source, new Draw(3))).toEqual(homes[3])
  expect(homes[3]).not.toHaveProperty('walkthrough')
  expect(new Set(homes.map((home) => home.problem)).size).toBeGreaterThan(20)
})

test('[REARRANGED-2] a mug in a place, a place for it and what cleans it are in every home; the rest is left out at times', () => {
  const left = { fridge: 0, drawer: 0, box: 0 }
  for (const home of homes) {
    const places = factsOf(home.problem, 'receptacletype').map(([id]) => id)
    expect(places).toContain('desk_bar_1')
    expect(places).toContain('sink_bar_1_bar_sinkbasin')
    const lying = factsOf(home.problem, 'inreceptacle').filter(([thing]) => thing.startsWith('mug'))
    expect(lying).toHaveLength(1)
    expect(places).toContain(lying[0]?.[1])
    if (!places.includes('fridge_bar_1')) left.fridge++
    if (places.filter((id) => id.startsWith('drawer')).length < 3) left.drawer++
    if (!home.problem.includes('box_bar_1')) left.box++
  }
  for (const count of Object.values(left)) expect(count).toBeGreaterThan(20)
})

test('what is in something that is left out is left out with it, and no fact names what is not declared', () => {
  for (const { problem: text } of homes) {
    if (!text.includes('fridge_bar_1')) expect(text).not.toContain('pen_bar_1')
    if (!text.includes('box_bar_1'))
      expect(factsOf(text, 'objecttype').filter(([id]) => id.startsWith('mug'))).toHaveLength(1)
    const declared = /\(:objects ([^)]*)\)/.exec(text)?.[1]?.split(' ') ?? []
    const named = new Set(text.slice(text.indexOf('(:init')).match(/\w+_bar_\w+/g))
    for (const id of named) expect(declared).toContain(id)
  }
})

test('objects trade ids within their kind: the mug of drawer 1 is either mug, in any drawer', () => {
  const seen = new Set(
    homes.flatMap(({ problem: text }) =>
      factsOf(text, 'inreceptacle')
        .filter(([thing]) => thing.startsWith('mug'))
        .map((pair) => pair.join()),
    ),
  )
  expect(seen).toEqual(
    new Set([1, 2].flatMap((mug) => [1, 2, 3].map((drawer) => `mug_bar_${mug},drawer_bar_${drawer}`))),
  )
})

test('of an errand that cannot be read nothing is left out', () => {
  const home = rearranged({ ...source, task: 'Your task is to: dance.' }, new Draw(1))
  expect(factsOf(home.problem, 'receptacletype')).toHaveLength(6)
  expect(factsOf(home.problem, 'objecttype').filter(([id]) => id.includes('_bar_'))).toHaveLength(4)
})
