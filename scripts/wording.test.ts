/** Words that are not used in code, documents and messages, because a plainer one says the same. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** Each with the words to use in its place. */
const words: readonly (readonly [RegExp, string])[] = [
  [/\b(?:un)?mend(?:s|ed|ing|able)?\b/i, 'repair, fix'],
  [/\bwhom?ever\b/i, 'the caller, the process that, any'],
  [/\bnobody\b/i, 'no one, unused, without'],
  [/\bsomebody\b/i, 'a person, another process'],
  [/\bin vain\b/i, 'without effect'],
  [/\bbears? out\b/i, 'support'],
  [/\bbur(?:y|ies|ied)\b/i, 'mark, end'],
  [/\bbehind the back\b/i, 'without the knowledge'],
  [/\bin hand\b/i, 'in progress'],
  [/\btold apart\b/i, 'distinguished'],
  [/\b(?:is|are) told of\b/i, 'is reported, reads about'],
]

/** Recorded histories are what a release wrote; the others quote what is not theirs to word. */
const excluded = [
  /^test\/histories\//,
  /^package-lock\.json$/,
  /^scripts\/wording\.test\.ts$/,
  /\.(?:png|svg|gz|zip|safetensors)$/,
]

/** Lines in which a listed word is a name: the Linux user `nobody`, and a prompt whose text is fixed. */
const quoted = /-u nobody\b|There is nobody to ask\./

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !excluded.some((pattern) => pattern.test(file)))
  .filter((file) => existsSync(join(root, file)))

test.each(words)('%s is used nowhere; say: %s', (word) => {
  const hits = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        word.test(line) && !quoted.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
      ),
  )
  expect(hits).toEqual([])
})

test('the patterns find the words, and not others', () => {
  const found = (text: string): boolean => words.some(([word]) => word.test(text))
  for (const text of [
    'Mended it',
    'whoever asks',
    'Nobody waits',
    'it is told of it',
    'waited in vain',
    'is in hand',
  ])
    expect(found(text), text).toBe(true)
  for (const text of ['recommended', 'amend', 'told offline']) expect(found(text), text).toBe(false)
})
