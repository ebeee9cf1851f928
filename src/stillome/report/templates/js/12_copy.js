// Copy the methods paragraph, also where a page from disk may not use the clipboard.
document.querySelectorAll("button[data-copy]").forEach((button) => button.addEventListener("click", async () => {
  const source = document.getElementById(button.dataset.copy);
  const told = document.getElementById(button.dataset.told);
  try {
    await navigator.clipboard.writeText(source.innerText);
    told.textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(source);
    told.textContent = document.execCommand("copy") ? "Copied." : "Selected: press Ctrl+C to copy.";
  }
}));
