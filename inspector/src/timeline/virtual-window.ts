import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Height of a row. timeline.css has the same height. */
export const ROW_PX = 30;
const MARGIN_ROWS = 12;
/** A list that is scrolled to within this distance of its end stays at its end while it grows. */
const END_PX = 2 * ROW_PX;

export interface VirtualWindow {
  readonly frame: { readonly current: HTMLDivElement | null };
  readonly first: number;
  readonly last: number;
  readonly rowsPerPage: number;
  /** Brings a row into view. `center` scrolls even if the row is in view already. */
  readonly reveal: (row: number, where?: 'nearest' | 'center') => void;
  readonly scrollToEnd: () => void;
}

export function useVirtualWindow(count: number): VirtualWindow {
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [{ top, height }, setView] = useState({ top: Math.max(0, count * ROW_PX - 600), height: 600 });
  const measure = (): void => {
    const { current } = frame;
    if (current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = current;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < END_PX;
    setView({ top: scrollTop, height: clientHeight });
  };
  useEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener('scroll', measure);
    };
  }, []);
  const scrollToEnd = (): void => {
    const { current } = frame;
    if (current !== null) current.scrollTop = current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollToEnd();
  }, [count]);
  const reveal = (row: number, where: 'nearest' | 'center' = 'nearest'): void => {
    const { current } = frame;
    if (current === null) return;
    const [start, end] = [row * ROW_PX, (row + 1) * ROW_PX];
    const { scrollTop, clientHeight } = current;
    if (where === 'center') current.scrollTop = start - (clientHeight - ROW_PX) / 2;
    else if (start < scrollTop) current.scrollTop = start;
    else if (end > scrollTop + clientHeight) current.scrollTop = end - clientHeight;
  };
  const first = Math.max(0, Math.floor(top / ROW_PX) - MARGIN_ROWS);
  const last = Math.min(count, Math.ceil((top + height) / ROW_PX) + MARGIN_ROWS);
  return { frame, first, last, rowsPerPage: Math.max(1, Math.floor(height / ROW_PX) - 1), reveal, scrollToEnd };
}
