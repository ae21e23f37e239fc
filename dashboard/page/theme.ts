/**
 * Light or dark: as the system has it, until the reader says otherwise.
 *
 * Invariants
 * - `isDark` changes whenever what is shown changes, so that drawings, which have no style sheet, follow.
 */
import { computed, effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const key = 'perdure-theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(system.matches)
system.addEventListener('change', () => {
  isSystemDark.value = system.matches
})

export const theme = signal<Theme>(storedTheme())
export const isDark = computed(() => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark'))

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
  try {
    localStorage.setItem(key, theme.value)
  } catch {
    // A browser that keeps nothing forgets the choice.
  }
})

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(key)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    return 'system'
  }
}
