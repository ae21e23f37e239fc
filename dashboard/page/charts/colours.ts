/**
 * Colours of drawings: canvas knows no style sheet, so the values of its names are read from the document.
 *
 * Invariants
 * - A name (a task, a run) has the same colour in all charts of a view: by its position among the names.
 */

const seriesCount = 10

/** The colour of the n-th of several things, as a name of the style sheet. */
export function seriesColour(index: number): string {
  return `var(--series-${index % seriesCount})`
}

/** The value of a colour of the style sheet as canvas takes it, in the theme that is shown. */
export function resolved(colour: string): string {
  const probe = document.createElement('i')
  probe.style.color = colour
  probe.hidden = true
  document.body.append(probe)
  const value = getComputedStyle(probe).color
  probe.remove()
  return value
}

/** The same, less opaque. @param share in [0, 1] */
export function translucent(colour: string, share: number): string {
  return resolved(`color-mix(in srgb, ${colour} ${Math.round(share * 100)}%, transparent)`)
}
