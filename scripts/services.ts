/**
 * Time and chance come from `machine/services/` on the durable path: a simulator replaces them there, and misses a direct call.
 *
 * Invariants
 * - [SERVICES-1] No code of these rooms reads the time, waits or draws in another way. Tests may.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repositoryFiles } from './rooms.ts'

const rooms = ['activities', 'storage', 'workers', 'client', 'machine', 'temporal']
const services = /^machine\/services\//
const tests = /\.(test|testing|bench)\.ts$/
const comments = /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*/g

/** `setImmediate` is allowed: it passes no time. */
const direct = new RegExp(
  [
    String.raw`\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bhrtime\b`,
    String.raw`\b(?:set|clear)(?:Timeout|Interval)\b|\bAbortSignal\.timeout\b`,
    String.raw`\bMath\.random\b|\brandom(?:UUID|Bytes|Int|FillSync)\b|\bgetRandomValues\b`,
  ].join('|'),
  'g',
)

/** One line for each direct call in a file. */
export function directCalls(file: string, text: string): readonly string[] {
  if (!rooms.includes(file.split('/')[0] ?? '') || services.test(file) || tests.test(file)) return []
  const code = text.replaceAll(comments, (comment) => comment.replaceAll(/[^\n]/g, ' '))
  return [...code.matchAll(direct)].map(({ 0: call, index }) => {
    const line = code.slice(0, index).split('\n').length
    return `${file}:${line} uses ${call}: take it from machine/services/`
  })
}

function check(): boolean {
  const root = dirname(import.meta.dirname)
  const files = repositoryFiles(root, '--cached', '--others', '--exclude-standard', ...rooms).filter((file) =>
    file.endsWith('.ts'),
  )
  const lines = files.flatMap((file) => directCalls(file, readFileSync(join(root, file), 'utf8')))
  for (const line of lines) console.error(line)
  return lines.length === 0
}

if (import.meta.main) process.exitCode = check() ? 0 : 1
