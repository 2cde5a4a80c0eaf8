import { render } from 'preact';
import './style.css';
import './parts/parts.css';
import './shell/shell.css';
import { Shell } from './shell/shell.tsx';
import { applyTheme } from './shell/theme.tsx';

applyTheme();
const root = document.querySelector('#root');
if (root !== null) render(<Shell />, root);
