"""Reports of runs, of compared systems and of studies, as HTML, Markdown, LaTeX and JUnit XML; means and limits."""
