/**
 * Images of task folders: those that they name, and those that the engine builds of their Dockerfiles.
 *
 * Invariants
 * - [HARBOR-IMAGE-1] The name of a built image follows from its files and from the images below it: the same folder is built once.
 * - [HARBOR-IMAGE-2] An image that the engine does not have or cannot build is refused with file and line.
 * - Only the builder downloads, and only what a Dockerfile names; an image that a task names must be there.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import type { ImageFacts, Sandbox } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault, type TaskOptions } from '../../contract/environment.ts'
import { baseImage, makeBase } from '../../os/containers/image.ts'
import { basesOf, instructionsOf, withBases } from './dockerfile.ts'
import { refusal } from './refusal.ts'
import { isRoot, type Surroundings } from './task-file.ts'
import { type FolderFile, filesBelow, type TaskFolder } from './task-folder.ts'

/** An image that containers can be made of. */
export interface TaskImage extends ImageFacts {
  readonly image: string
}

/** Finds and builds images, each once. */
export class TaskImages {
  readonly #sandbox: Sandbox
  readonly #others: Readonly<Record<string, string>>
  readonly #options: Pick<TaskOptions, 'folder' | 'leases'>
  readonly #known = new Map<string, Promise<TaskImage>>()

  /** @param others images in the place of some */
  constructor(
    sandbox: Sandbox,
    others: Readonly<Record<string, string>>,
    options: Pick<TaskOptions, 'folder' | 'leases'>,
  ) {
    this.#sandbox = sandbox
    this.#others = others
    this.#options = options
  }

  /** That of the agent's container. @throws EnvironmentFault `bad_data` with file and line */
  ofAgent({ path, file, rules }: TaskFolder): Promise<TaskImage> {
    return this.#once(`agent ${path}`, () =>
      this.#find(rules.environment, join(path, 'environment'), () =>
        refusalAt(file, rules.lineOf(['environment', 'docker_image'])),
      ),
    )
  }

  /** That of a separate verifier. @throws EnvironmentFault `bad_data` with file and line */
  ofVerifier(task: TaskFolder): Promise<TaskImage> {
    const { separate } = task.rules.verifier
    if (separate === undefined || !task.hasVerifierImage) return this.ofAgent(task)
    return this.#once(`verifier ${task.path}`, () =>
      this.#find(separate, join(task.path, 'tests'), () =>
        refusalAt(task.file, task.rules.lineOf(['verifier', 'environment', 'docker_image'])),
      ),
    )
  }

  #once(key: string, find: () => Promise<TaskImage>): Promise<TaskImage> {
    let image = this.#known.get(key)
    if (image === undefined) {
      image = find()
      this.#known.set(key, image)
      // A name that no registry knows may take half a minute; a failure of the engine is tried again.
      image.catch((fault: unknown) => {
        if (!(fault instanceof EnvironmentFault && fault.permanent)) this.#known.delete(key)
      })
    }
    return image
  }

  async #find(
    { image: named, buildSeconds }: Surroundings,
    folder: string,
    refuse: () => (reason: string) => Error,
  ): Promise<TaskImage> {
    if (named === undefined) return this.#built(folder, buildSeconds)
    const image = this.#others[named] ?? named
    const facts = await this.#factsOf(image)
    if (facts !== undefined) return ofRoot({ ...facts, image }, refuse())
    throw refuse()(
      `the container engine has no image ${image}: pull it, or name another in \`settings.images\``,
    )
  }

  async #built(folder: string, buildSeconds: number): Promise<TaskImage> {
    const file = join(folder, 'Dockerfile')
    const files = filesBelow(folder)
    const dockerfile = files.find(({ path }) => path === 'Dockerfile')
    const text = withBases(Buffer.from(dockerfile?.content ?? '').toString(), this.#others)
    const instructions = instructionsOf(text)
    const bases = await Promise.all(basesOf(instructions).map((base) => this.#factsOf(base)))
    const context = files.map((each) =>
      each === dockerfile ? { ...each, content: Buffer.from(text) } : each,
    )
    const image = `perdure-harbor:${digestOf(
      context,
      bases.map((facts) => facts?.id ?? ''),
    )}`
    const refuse = refusalAt(file, instructions.findLast(({ name }) => name === 'FROM')?.line ?? 1)
    const known = await this.#sandbox.imageFacts(image)
    if (known !== undefined) return ofRoot({ ...known, image }, refuse)
    const failure = await this.#sandbox.buildImage(image, tarOf(context), buildSeconds * 1000)
    if (failure !== undefined) {
      const { line, text: words } = instructions[failure.step - 1] ?? { line: 1, text: 'the Dockerfile' }
      const advice = words.toUpperCase().startsWith('FROM')
        ? '; `settings.images` names an image that the container engine has in its place'
        : ''
      throw refusal(file, line, `${words.slice(0, 100)}: ${failure.reason.slice(0, 400)}${advice}`)
    }
    const facts = await this.#sandbox.imageFacts(image)
    if (facts !== undefined) return ofRoot({ ...facts, image }, refuse)
    throw refusal(file, undefined, 'its image was removed as soon as it was built')
  }

  /** The base of the `os` task is made where it is missing. */
  async #factsOf(image: string): Promise<ImageFacts | undefined> {
    if (image === baseImage) await makeBase(this.#sandbox, this.#options)
    return await this.#sandbox.imageFacts(image)
  }
}

function refusalAt(file: string, line: number): (reason: string) => Error {
  return (reason) => refusal(file, line, reason)
}

/** The image, where its commands run as root. */
function ofRoot(image: TaskImage, refuse: (reason: string) => Error): TaskImage {
  if (isRoot(image.user)) return image
  throw refuse(`the user of the image is ${image.user}: only root can be had`)
}

function digestOf(files: readonly FolderFile[], bases: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(bases))
  for (const { path, mode, content } of files)
    hash.update(JSON.stringify([path, mode, content.length])).update(content)
  return hash.digest('hex').slice(0, 24)
}

function tarOf(files: readonly FolderFile[]): Readable {
  const tar = pack()
  for (const { path, mode, content } of files)
    tar.entry({ name: path, mode, mtime: new Date(0) }, Buffer.from(content))
  tar.finalize()
  return Readable.from(tar)
}
