/**
 * The instructions of a Dockerfile, as far as it must be known before it is built.
 *
 * Invariants
 * - [DOCKERFILE-1] The n-th instruction here is the n-th step of the engine's build, so that its failure has a line.
 */

/** An instruction. */
export interface Instruction {
  /** The number of its first line, from 1. */
  readonly line: number
  /** In capitals. */
  readonly name: string
  /** On one line. */
  readonly text: string
}

/** Instructions in their order; comments and empty lines are none. */
export function instructionsOf(text: string): readonly Instruction[] {
  const found: Instruction[] = []
  let open: { readonly line: number; readonly parts: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const bare = line.trim()
    if (bare === '' || bare.startsWith('#')) continue
    open ??= { line: index + 1, parts: [] }
    open.parts.push(bare.replace(/\\$/, ''))
    if (bare.endsWith('\\')) continue
    const words = open.parts.join(' ').trim()
    found.push({ line: open.line, name: words.split(/\s/, 1)[0]?.toUpperCase() ?? '', text: words })
    open = undefined
  }
  return found
}

const base = /^(\s*FROM\s+(?:--\S+\s+)*)(\S+)/i

/** Names of the images that a Dockerfile begins with, without its own stages. */
export function basesOf(instructions: readonly Instruction[]): readonly string[] {
  const stages = new Set<string>()
  return instructions.flatMap(({ name, text }) => {
    if (name !== 'FROM') return []
    const image = base.exec(text)?.[2] ?? ''
    const isStage = stages.has(image.toLowerCase())
    const stage = /\sAS\s+(\S+)\s*$/i.exec(text)?.[1]
    if (stage !== undefined) stages.add(stage.toLowerCase())
    return isStage ? [] : [image]
  })
}

/** The text with other images in the place of some. */
export function withBases(text: string, images: Readonly<Record<string, string>>): string {
  return text
    .split('\n')
    .map((line) =>
      line.replace(base, (_, before: string, image: string) => before + (images[image] ?? image)),
    )
    .join('\n')
}
