"""Pictures, by matplotlib."""

COLOURS = {"heap": "#b0552e", "zheap": "#1f6f8b"}


def can_draw():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(plot, path):
    import matplotlib
    matplotlib.use("svg")
    # the same picture for the same figures
    matplotlib.rcParams["svg.hashsalt"] = plot.name
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.2))
    for label, points in plot.lines.items():
        side = label.split()[0]
        axes.plot([x for x, _ in points], [y for _, y in points], label=label,
                  color=COLOURS.get(side), marker="o" if len(points) < 20 else None,
                  linestyle="-" if label in COLOURS else "--", linewidth=1.5, markersize=3)
    if plot.log_x:
        axes.set_xscale("symlog", base=2, linthresh=1)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_title(plot.title, fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
