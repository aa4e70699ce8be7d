// What scrolls sideways can be reached by the keyboard; the theme wraps tables after the page has loaded.
const reach = () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, .formula")) wide.tabIndex = 0;
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
