// Theme, versions, copy buttons and search. The pages work without it.
(() => {
  'use strict';
  const script = document.currentScript;
  const root = document.documentElement;

  // A choice of the theme is kept; otherwise the system decides.
  const stored = (() => { try { return localStorage.getItem('theme'); } catch { return null; } })();
  if (stored) root.dataset.theme = stored;
  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch { /* private mode */ }
  });

  // The list of pages is closed on small screens.
  const pages = document.querySelector('nav details');
  if (matchMedia('(max-width: 52rem)').matches) pages.open = false;
  const current = document.querySelector('nav [aria-current=page]');
  if (current && pages.open) current.scrollIntoView({ block: 'nearest' });

  // Other versions are sites beside this one: the first in the folder above, the others in folders of their names.
  const base = new URL('.', script.src);
  const version = document.getElementById('version');
  version?.addEventListener('change', () => {
    const first = version.options[0].value;
    const here = [...version.options].find((o) => o.defaultSelected)?.value ?? first;
    const top = here === first ? base : new URL('..', base);
    location = new URL((version.value === first ? '' : version.value + '/') + 'index.html', top);
  });

  for (const pre of document.querySelectorAll('article pre')) {
    const button = document.createElement('button');
    button.className = 'copy';
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const lines = (pre.querySelector('code') ?? pre).textContent.split('\n');
      const commands = lines.filter((l) => l.startsWith('$ ')).map((l) => l.slice(2));
      await navigator.clipboard.writeText((commands.length ? commands : lines).join('\n').trim());
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
    pre.append(button);
  }

  const input = document.getElementById('search');
  const list = document.getElementById('results');
  let loading;
  const load = () => loading ??= new Promise((resolve, reject) => {
    const s = document.createElement('script');
    s.src = new URL('search-index.js', base);
    s.onload = () => resolve(window.searchIndex.map((e) => ({ ...e, low: (e.t + ' ' + e.h).toLowerCase(), text: e.x.toLowerCase() })));
    s.onerror = reject;
    document.head.append(s);
  });

  // Every word must occur; words in titles count most.
  const score = (entry, words) => {
    let sum = 0;
    for (const word of words) {
      const title = entry.low.includes(word);
      if (!title && !entry.text.includes(word)) return 0;
      sum += title ? (entry.low.split(/[^a-z0-9-]+/).includes(word) ? 30 : 20) : Math.min(entry.text.split(word).length - 1, 8);
    }
    return sum;
  };
  const excerpt = (entry, word) => {
    const at = Math.max(entry.text.indexOf(word) - 40, 0);
    return (at ? '…' : '') + entry.x.slice(at, at + 130).trim() + '…';
  };
  const show = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0;
    input.setAttribute('aria-expanded', String(!list.hidden));
    if (list.hidden) return;
    const index = await load();
    const found = index.map((e) => [score(e, words), e]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]).slice(0, 10);
    list.replaceChildren(...found.map(([, e], i) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      const note = document.createElement('small');
      link.href = new URL(e.p + e.a, base);
      link.textContent = e.h ? `${e.t}: ${e.h}` : e.t;
      note.textContent = `${e.k} · ${excerpt(e, words[0])}`;
      link.append(note);
      item.append(link);
      item.id = `result-${i}`;
      item.setAttribute('role', 'option');
      item.setAttribute('aria-selected', String(i === 0));
      return item;
    }));
    if (found.length === 0) {
      const item = document.createElement('li');
      item.className = 'none';
      item.textContent = 'Nothing found';
      list.append(item);
    }
  };
  const move = (step) => {
    const items = [...list.querySelectorAll('[role=option]')];
    if (items.length === 0) return;
    const at = items.findIndex((i) => i.getAttribute('aria-selected') === 'true');
    const next = items[(at + step + items.length) % items.length];
    items.forEach((i) => i.setAttribute('aria-selected', String(i === next)));
    input.setAttribute('aria-activedescendant', next.id);
    next.scrollIntoView({ block: 'nearest' });
  };
  input.addEventListener('input', show);
  input.addEventListener('focus', load, { once: true });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') { move(1); event.preventDefault(); }
    if (event.key === 'ArrowUp') { move(-1); event.preventDefault(); }
    if (event.key === 'Enter') list.querySelector('[aria-selected=true] a')?.click();
    if (event.key === 'Escape') { input.value = ''; show(); input.blur(); }
  });
  document.addEventListener('click', (event) => { if (!event.target.closest('.search')) list.hidden = true; });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { input.focus(); event.preventDefault(); }
  });
})();
