/**
 * The words that generated problems are made of, and lines of them.
 *
 * Invariants
 * - No list has a word twice, and a word is lower-case letters alone: a shell needs no quotes for it.
 */
import type { Draw } from './draw.ts'

/** Names of files and folders. */
export const nouns =
  'amber anchor apple arrow atlas badge bamboo basil beacon birch bridge cabin cactus candle canyon cedar cinder clover cobalt comet copper coral crane crater delta dune ember falcon fern fjord flint forest garnet glacier harbor hazel heron indigo island ivory jade jasper juniper kestrel lagoon lantern lemon lilac lotus maple marble meadow mesa mint nectar oasis olive onyx opal orbit orchid otter pebble pepper pine plum poppy prairie quartz quill raven reef ridge river robin saffron sage sierra silver spruce summit thistle topaz tulip valley velvet violet walnut willow zephyr'.split(
    ' ',
  )

/** Words of lines. */
export const words =
  'alarm backup batch budget cable cache change client cloud color copy cost cycle daily data delay deploy disk draft driver email engine entry error event export field filter fixed frame group guest handle hardware import index input item job label layer lease level limit link list local lock login market memory merge meter module monitor motor network node note offset order output packet page panel patch phase pilot plan plant policy pool port price print probe queue radar range rate record region relay remote report retry route rule sample scan schedule sensor server shift signal socket source stage status stock store stream switch system table task team token trace track unit update user value vendor warning window worker zone'.split(
    ' ',
  )

/** People, who are users too. */
export const people =
  'alice bruno carla dmitri elena farid greta hugo ines jonas kenji lena marco nadia omar petra quentin rosa sven tara ulrich vera wen xenia yusuf zoe'.split(
    ' ',
  )

/** Extensions of files. */
export const extensions = ['txt', 'log', 'csv', 'md', 'json', 'conf', 'dat', 'bak', 'py', 'html'] as const

/** A line of words. */
export function lineOf(draw: Draw, count = draw.int(2, 5)): string {
  return draw.times(count, () => draw.one(words)).join(' ')
}

/** Lines, each ended. */
export function linesOf(draw: Draw, count: number): string {
  return draw.times(count, () => `${lineOf(draw)}\n`).join('')
}
