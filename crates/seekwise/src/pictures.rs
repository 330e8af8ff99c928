//! Answers as pictures (SVG, PNG, and characters of a terminal) and as pages. No file is written here.

/// Curves.
pub use seekwise_lab::plot::{Picture, draw_svg, draw_terminal};

/// SVG of any picture as PNG.
pub use seekwise_lab::plot::render_png;

/// The sides of a comparison, with their intervals.
pub use seekwise_lab::plot::comparison::{
    ComparisonPlot, Levels, Panel, SideFigure, SideLabel, draw_svg as draw_comparison,
};

/// A run: its response times by percentile, and the parts of the mean one.
pub use seekwise_lab::plot::run_plot::{KindPlot, RunPlot, draw_svg as draw_run};

/// The leading comparison of a study, a line for each cell.
pub use seekwise_lab::forest::{Forest, draw_svg as draw_forest};

/// Data at risk over time, in case the power is cut.
pub use seekwise_lab::cut::plot::{draw_svg as draw_risk, draw_terminal as draw_risk_terminal};

/// Distributions of measured and of simulated response times.
pub use seekwise_lab::validate::plot::draw_svg as draw_distributions;

/// An answer as one HTML page without a script.
pub use seekwise_lab::page::Page;
