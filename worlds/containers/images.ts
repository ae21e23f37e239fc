/**
 * Images: what containers are made of.
 *
 * Invariants
 * - An image that is there under its name is never made again: names carry the version of their recipe.
 * - [IMAGES-1] A build that fails or is late leaves no container of its steps, and says which instruction it was.
 * - A line that is longer than the limit ends the reading: the engine's own are short.
 * - Leaving the loop, or an error, ends the stream.
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { reasonOf } from '../../faults/reason.ts'
import { type Engine, engineFault, statusOf } from './engine.ts'
import { ContainerFault } from './fault.ts'
import type { BuildFailure, ImageFacts } from './sandbox.ts'

const progressLine = z.object({ error: z.string().optional(), stream: z.string().optional() })

/** Whether the engine has the image. @throws ContainerFault `backend` */
export async function hasImage({ docker }: Engine, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect()
    return true
  } catch (error) {
    if (statusOf(error) === 404) return false
    throw engineFault(error, `looking for image ${image}`)
  }
}

const imageVolumes = z.object({
  Config: z.object({ Volumes: z.record(z.string(), z.unknown()).nullish() }).nullish(),
})

/** Paths that an image declares as volumes; none for an image that the engine does not have. @throws ContainerFault `backend` */
export async function volumesOf({ docker }: Engine, image: string): Promise<readonly string[]> {
  try {
    const { Config } = imageVolumes.parse(await docker.getImage(image).inspect())
    return Object.keys(Config?.Volumes ?? {})
  } catch (error) {
    if (statusOf(error) === 404) return []
    throw engineFault(error, `looking at image ${image}`)
  }
}

/** Makes an image of a file system's tar stream. @throws ContainerFault `backend` */
export async function importImage(
  { docker }: Engine,
  image: string,
  tar: NodeJS.ReadableStream,
): Promise<void> {
  const { repo, tag } = nameOf(image)
  try {
    await finish(await docker.importImage(tar, { repo, tag }), `importing image ${image}`)
  } catch (error) {
    throw engineFault(error, `importing image ${image}`)
  }
}

const described = z.object({
  Id: z.string(),
  Config: z
    .object({
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Env: z.array(z.string()).nullish(),
    })
    .nullish(),
})

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The facts of an image; undefined where the engine does not have it. @throws ContainerFault `backend` */
export async function imageFacts({ docker }: Engine, image: string): Promise<ImageFacts | undefined> {
  try {
    const { Id, Config } = described.parse(await docker.getImage(image).inspect())
    const path = Config?.Env?.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? usualPath
    return {
      id: Id,
      user: Config?.User ?? '',
      workingDirectory: Config?.WorkingDir ?? '',
      path: path.split(':').filter((folder) => folder.startsWith('/')),
    }
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw engineFault(error, `looking at image ${image}`)
  }
}

/** Builds an image. @returns why it could not be built @throws ContainerFault `backend` */
export async function buildImage(
  { docker }: Engine,
  image: string,
  tar: NodeJS.ReadableStream,
  withinMs: number,
): Promise<BuildFailure | undefined> {
  let step = 0
  let said = ''
  let late = false
  let timer: NodeJS.Timeout | undefined
  try {
    const progress = (await docker.buildImage(tar, { t: image, forcerm: true })) as Readable
    timer = setTimeout(() => {
      late = true
      // The engine ends a build whose caller has gone.
      progress.destroy()
    }, withinMs)
    for await (const line of linesOf(progress)) {
      const { error, stream = '' } = progressLine.parse(JSON.parse(line))
      const begun = /^Step (\d+)\//.exec(stream)?.[1]
      step = Number(begun ?? step)
      said = begun === undefined ? `${said}${stream}`.slice(-1000) : ''
      if (error !== undefined) return { step, reason: [error, ...ownLines(said)].join('; ') }
    }
    if (!late) return undefined
  } catch (error) {
    // A Dockerfile that cannot be read.
    if (statusOf(error) === 400) return { step, reason: reasonOf(error) }
    if (!late) throw engineFault(error, `building image ${image}`)
  } finally {
    clearTimeout(timer)
  }
  return { step, reason: `it was not built within ${withinMs / 1000} s` }
}

/** The last lines that a step itself has said, without those of the builder. */
function ownLines(said: string): readonly string[] {
  const lines = said.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '' && !/^(--->|Removing intermediate)/.test(line)).slice(-3)
}

/** Reads the engine's progress to its end; it reports a failure, which the status does not. */
async function finish(progress: NodeJS.ReadableStream, what: string): Promise<void> {
  let said = ''
  for await (const line of linesOf(progress as Readable)) {
    const { error, stream = '' } = progressLine.parse(JSON.parse(line))
    said = `${said}${stream}`.slice(-2000)
    if (error !== undefined) throw new ContainerFault('backend', `${what}: ${error}\n${said}`)
  }
}

function nameOf(image: string): { repo: string; tag: string } {
  const at = image.lastIndexOf(':')
  return at > image.lastIndexOf('/')
    ? { repo: image.slice(0, at), tag: image.slice(at + 1) }
    : { repo: image, tag: 'latest' }
}

/** A progress line holds what a step of a build said. */
const longestLine = 2 ** 20

/** @throws Error what the stream ended with, or that a line is too long */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) throw new Error('the engine sent a line without an end')
    for (const line of lines) if (line.trim() !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}
