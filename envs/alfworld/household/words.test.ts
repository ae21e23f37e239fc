import { expect, test } from 'vitest'
import { fits, furniture, furnitureKinds, lamp, rooms, thingKinds, things } from './words.ts'

const names = [...furnitureKinds, ...thingKinds, lamp.name]

test('every name is one lower-case word that starts with a consonant', () => {
  for (const name of names) expect(name).toMatch(/^[bcdfghjklmnpqrstvwxyz][a-z]+$/)
  expect(new Set(names).size).toBe(names.length)
})

test('every plural adds "s" alone', () => {
  for (const name of thingKinds) expect(name).not.toMatch(/(s|x|z|ch|sh|f|fe|[^aeiou]y)$/)
})

test('every thing has at least two likely places and fits into each of them', () => {
  for (const kind of thingKinds) {
    const { places } = things[kind]
    expect(new Set(places).size).toBe(places.length)
    expect(places.length).toBeGreaterThanOrEqual(2)
    for (const place of places) expect(fits(kind, place)).toBe(true)
  }
})

test('every kind of furniture is in some room, and every lamp place is open', () => {
  const standing = Object.values(rooms).flat()
  for (const kind of furnitureKinds) expect(standing).toContain(kind)
  for (const place of lamp.places) expect(furniture[place].closable).toBe(false)
})
