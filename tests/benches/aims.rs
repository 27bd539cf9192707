//! What figures are to come to.

/// How a figure that should be small stands against what must hold and what is aimed at.
pub fn verdict(figure: f64, must_hold: f64, aim: f64) -> &'static str {
    match figure {
        f if f <= aim => "aim reached",
        f if f <= must_hold => "holds",
        _ => "MISSED",
    }
}
