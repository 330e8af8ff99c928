//! Results as one page.
