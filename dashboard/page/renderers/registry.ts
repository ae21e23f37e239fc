/** The renderer of each task that has one. */
import { alfworldRenderer } from './alfworld.tsx'
import { dbRenderer } from './db.tsx'
import { kgRenderer } from './kg.tsx'
import { osRenderer } from './os.tsx'
import type { Renderer } from './renderer.ts'
import { webshopRenderer } from './webshop.tsx'

const renderers: Readonly<Record<string, Renderer>> = {
  alfworld: alfworldRenderer,
  db: dbRenderer,
  kg: kgRenderer,
  os: osRenderer,
  webshop: webshopRenderer,
}

/** The renderer of a task without one: everything is shown as text. */
const textRenderer: Renderer = {}

export function rendererOf(task: string): Renderer {
  return Object.hasOwn(renderers, task) ? (renderers[task] ?? textRenderer) : textRenderer
}
