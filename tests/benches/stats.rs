//! What rounds come to.
#![allow(dead_code, reason = "each benchmark needs some of it")]

/// The middle of what was measured.
pub fn median(measured: impl IntoIterator<Item = f64>) -> f64 {
    quartiles(measured)[1]
}

/// A quarter of what was measured lies below the first, half below the second, a quarter above the third.
///
/// # Panics
///
/// If nothing was measured.
pub fn quartiles(measured: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = measured.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

/// So many hundredths of what was measured lie below it.
///
/// # Panics
///
/// If nothing was measured.
pub fn percentile(measured: impl IntoIterator<Item = f64>, hundredths: usize) -> f64 {
    let mut sorted: Vec<f64> = measured.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) * hundredths / 100]
}
