import { signal } from '@preact/signals';
import { IconMoon, IconSun } from '../parts/icons.tsx';

type Theme = 'light' | 'dark';

const ITEM = 'turnfold.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = signal<Theme | undefined>(readChoice());
const system = signal<Theme>(dark.matches ? 'dark' : 'light');
dark.addEventListener('change', ({ matches }) => {
  system.value = matches ? 'dark' : 'light';
});

function readChoice(): Theme | undefined {
  const stored = localStorage.getItem(ITEM);
  return stored === 'light' || stored === 'dark' ? stored : undefined;
}

export function applyTheme(): void {
  const theme = chosen.value;
  if (theme === undefined) delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function ThemeSwitch() {
  const other = (chosen.value ?? system.value) === 'dark' ? 'light' : 'dark';
  const choose = (): void => {
    chosen.value = other;
    localStorage.setItem(ITEM, other);
    applyTheme();
  };
  return (
    <button
      type="button"
      class="icon-button"
      onClick={choose}
      aria-label={`Use the ${other} theme`}
      title={`Use the ${other} theme`}
    >
      {other === 'dark' ? <IconMoon /> : <IconSun />}
    </button>
  );
}
