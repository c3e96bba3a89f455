// Brings the page up to date every second, and its buttons to life without a reload. All that it shows is made by the
// server: the new page is laid over the old one, so that what has the focus keeps it.
'use strict';

(() => {
	const INTERVAL = 1000;
	const still = window.matchMedia('(prefers-reduced-motion: reduce)');
	const parser = new DOMParser();
	let shownAt = performance.now();
	let acting = false;

	function show(html) {
		const page = parser.parseFromString(html, 'text/html');
		const main = page.querySelector('main');
		if (main) {
			lay(document.querySelector('main'), main);
			shownAt = performance.now();
		}
	}

	function lay(from, to) {
		if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || from.id !== to.id) {
			from.replaceWith(to);
			return;
		}
		if (from.nodeType !== Node.ELEMENT_NODE) {
			if (from.data !== to.data) {
				from.data = to.data;
			}
			return;
		}
		for (const { name } of [...from.attributes]) {
			if (!to.hasAttribute(name)) {
				from.removeAttribute(name);
			}
		}
		for (const { name, value } of to.attributes) {
			if (from.getAttribute(name) !== value) {
				from.setAttribute(name, value);
			}
		}
		const olds = [...from.childNodes];
		const news = [...to.childNodes];
		news.forEach((child, i) => (i < olds.length) ? lay(olds[i], child) : from.append(child));
		olds.slice(news.length).forEach((child) => child.remove());
	}

	async function load(path, options) {
		const response = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(15000), ...options });
		const text = await response.text();
		if (response.ok) {
			show(text);
		}
		else {
			tell(text);
		}
	}

	function tell(text) {
		const status = document.querySelector('[role=status]');
		status.className = 'ended';
		status.textContent = text;
	}

	async function follow() {
		try {
			if (!acting && !document.hidden) {
				await load('/');
			}
		}
		catch {
			tell('The page gets no answer: has the cluster ended?');
		}
		setTimeout(follow, INTERVAL);
	}

	function drain() {
		const gone = performance.now() - shownAt;
		for (const lease of document.querySelectorAll('progress')) {
			lease.value = Math.max(0, lease.dataset.remaining - gone);
			lease.nextElementSibling.textContent = (lease.value / 1000).toFixed(1) + ' s';
		}
		if (!still.matches) {
			requestAnimationFrame(drain);
		}
	}

	document.addEventListener('submit', async (event) => {
		event.preventDefault();
		const button = event.submitter;
		if (acting || button.getAttribute('aria-disabled') === 'true') {
			return;
		}
		acting = true;
		const body = new URLSearchParams(new FormData(event.target));
		body.append(button.name, button.value);
		try {
			await load('/act', { method: 'POST', body });
		}
		catch {
			tell('The page gets no answer: has the cluster ended?');
		}
		finally {
			acting = false;
		}
	});

	still.addEventListener('change', drain);
	drain();
	setTimeout(follow, INTERVAL);
})();
