;;; trainc-eglot.el --- trainc's language server in Emacs -*- lexical-binding: t -*-

;; Emacs 29 has eglot; for Emacs 28 there is the package elpa-eglot.
;; In your init file: (load "/path/to/editors/emacs/trainc-eglot")

(require 'eglot)

;; Files that have nothing for trainc get no diagnostics, so that it may start for all YAML.
(add-to-list 'eglot-server-programs '((yaml-mode yaml-ts-mode) . ("trainc" "lsp")))
(add-hook 'yaml-mode-hook #'eglot-ensure)
(add-hook 'yaml-ts-mode-hook #'eglot-ensure)

(provide 'trainc-eglot)
;;; trainc-eglot.el ends here
