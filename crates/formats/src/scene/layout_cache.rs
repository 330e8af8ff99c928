//! A cache of layouts that are known to fit their drive. The cells of a study lay out few different scenes, so the caller that
//! prepares several cells owns a cache and passes it to each [`super::SceneFile::build`]. Results do not depend on the cache.

use seekwise_work::files::scene::SceneLayout;

use seekwise_drives::recent_cache::RecentCache;

/// The most recently used layouts. Threads may share them.
pub struct LayoutCache(RecentCache<SceneLayout>);

/// The number of cached layouts: the built-in study with the most scenes has 78. A layout takes some hundred bytes.
const MOST_LAYOUTS: usize = 128;

impl Default for LayoutCache {
    /// An empty cache.
    fn default() -> LayoutCache {
        LayoutCache(RecentCache::new(MOST_LAYOUTS))
    }
}

impl LayoutCache {
    /// True if the layout is known to fit.
    pub(super) fn contains(&self, layout: &SceneLayout) -> bool {
        self.0.find_and_touch(|known| known == layout, |_| ()).is_some()
    }

    /// Adds a layout that fits.
    pub(super) fn add(&self, layout: SceneLayout) {
        self.0.add(layout);
    }
}
